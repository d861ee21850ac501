#include "store/faulty_test.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_bool is_full;
static atomic_bool is_sync_failing;
static atomic_uint_fast64_t n_syncs;
static atomic_uint_fast64_t n_failed;

struct faulty_file {
	sqlite3_file base;
	sqlite3_file *real; /* lies behind this struct, in the room that SQLite gave */
};

static sqlite3_file *real(sqlite3_file *file)
{
	return ((struct faulty_file *)file)->real;
}

static int file_close(sqlite3_file *file)
{
	return real(file)->pMethods->xClose(real(file));
}

static int file_read(sqlite3_file *file, void *buf, int n, sqlite3_int64 at)
{
	return real(file)->pMethods->xRead(real(file), buf, n, at);
}

static int file_write(sqlite3_file *file, const void *buf, int n, sqlite3_int64 at)
{
	return atomic_load(&is_full) ? SQLITE_FULL : real(file)->pMethods->xWrite(real(file), buf, n, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return real(file)->pMethods->xTruncate(real(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
	atomic_fetch_add(&n_syncs, 1);
	if (!atomic_load(&is_sync_failing))
		return real(file)->pMethods->xSync(real(file), flags);
	atomic_fetch_add(&n_failed, 1);
	errno = ENOSPC; /* as thin disks and network file systems have it: still not a full disk that did no harm */
	return SQLITE_IOERR_FSYNC;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	return real(file)->pMethods->xFileSize(real(file), ret);
}

static int file_lock(sqlite3_file *file, int level)
{
	return real(file)->pMethods->xLock(real(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
	return real(file)->pMethods->xUnlock(real(file), level);
}

static int file_check_reserved(sqlite3_file *file, int *ret)
{
	return real(file)->pMethods->xCheckReservedLock(real(file), ret);
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
	return real(file)->pMethods->xFileControl(real(file), op, arg);
}

static int file_sector_size(sqlite3_file *file)
{
	return real(file)->pMethods->xSectorSize(real(file));
}

static int file_characteristics(sqlite3_file *file)
{
	return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
	return real(file)->pMethods->xShmMap(real(file), page, size, extend, ret);
}

static int file_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
	return real(file)->pMethods->xShmLock(real(file), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
	real(file)->pMethods->xShmBarrier(real(file));
}

static int file_shm_unmap(sqlite3_file *file, int drop)
{
	return real(file)->pMethods->xShmUnmap(real(file), drop);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_check_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector_size,
	.xDeviceCharacteristics = file_characteristics,
	.xShmMap = file_shm_map,
	.xShmLock = file_shm_lock,
	.xShmBarrier = file_shm_barrier,
	.xShmUnmap = file_shm_unmap,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	sqlite3_vfs *below = vfs->pAppData;
	struct faulty_file *faulty = (struct faulty_file *)file;
	int rc;

	faulty->real = (sqlite3_file *)(faulty + 1);
	rc = below->xOpen(below, name, faulty->real, flags, ret_flags);
	file->pMethods = faulty->real->pMethods ? &methods : NULL;
	return rc;
}

void faulty_install(void)
{
	static sqlite3_vfs layer;
	sqlite3_vfs *below = sqlite3_vfs_find(NULL);

	layer = *below;
	layer.pNext = NULL;
	layer.zName = "faulty";
	layer.pAppData = below;
	layer.szOsFile = (int)sizeof(struct faulty_file) + below->szOsFile;
	layer.xOpen = open_file;
	if (sqlite3_vfs_register(&layer, 1) != SQLITE_OK)
		abort();
	faulty_reset();
}

void faulty_reset(void)
{
	atomic_store(&is_full, false);
	atomic_store(&is_sync_failing, false);
	atomic_store(&n_syncs, 0);
	atomic_store(&n_failed, 0);
}

void faulty_set_full(bool full)
{
	atomic_store(&is_full, full);
}

void faulty_set_sync_error(bool fails)
{
	atomic_store(&is_sync_failing, fails);
}

uint64_t faulty_syncs(void)
{
	return atomic_load(&n_syncs);
}

uint64_t faulty_failed_syncs(void)
{
	return atomic_load(&n_failed);
}
