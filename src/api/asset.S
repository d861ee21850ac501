/* The page's files, as they are. */
.macro asset name, file
	.global berth_asset_\name
	.global berth_asset_\name\()_end
berth_asset_\name:
	.incbin "\file"
berth_asset_\name\()_end:
	.byte 0
.endm

	.section .rodata
	asset index_html, "index.html"
	asset page_js, "page.js"
	asset live_js, "live.js"
	asset view_js, "view.js"
	asset words_js, "words.js"
	asset page_css, "page.css"
	asset icon_svg, "icon.svg"
	.section .note.GNU-stack,"",%progbits
