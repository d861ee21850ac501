"""Book-keeping of cards: none leaks, none is counted twice, a job sees its own and no other."""
import contextlib
import os
import signal
import socket
import subprocess

import case
from case import Case


class Cards(Case):
    def check_released(self, cards, count):
        self.start(f"cards: {cards}\n")
        mine = self.free()
        self.assertEqual(len(mine), count)
        for _ in range(20):
            job = self.berth.submit("true", gpus=1)
            self.assertIn(self.ended(job)["device_indexes"][0], mine)
            self.assertEqual(self.free(), mine)
        every = self.berth.until_state(self.berth.submit("true", gpus=count), "COMPLETED")
        self.assertEqual(sorted(every["device_indexes"]), mine)
        self.assertEqual(self.free(), mine)

    def test_A1_released_cards_are_free_again(self):
        """Elsewhere a release cleared the slot at the card's position, not the card's own, and cards stayed taken for ever."""
        self.check_released("[4-7]", 4)

    def test_A1_released_cards_are_free_again_where_numbers_have_holes(self):
        """Elsewhere the same, with cards 1, 3 and 6."""
        self.check_released("[1, 3, 6]", 3)

    def test_A1_cards_that_a_new_configuration_leaves_out_are_not_given(self):
        """Elsewhere what stood in the books before a restart counted more than the table that was read at it."""
        self.start("cards: [4-7]\n")
        holder = self.berth.submit("sh", "-c", "until [ -e go ]; do sleep 0.05; done", gpus=4)
        self.running(holder)
        waiting = [self.berth.submit("sleep", "600", gpus=1) for _ in range(4)]
        self.berth.kill()
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        self.berth.until(lambda: not self.berth.pids("shim"), "the cards are free")
        self.start("cards: [1, 3, 6]\n")
        cards = sorted(self.running(job)["device_indexes"][0] for job in waiting[:3])
        self.assertEqual(cards, [1, 3, 6])
        self.assertEqual(self.berth.job(waiting[3])["state"], "PENDING")
        self.assertEqual([self.berth.job(job)["attempt"] for job in waiting[:3]], [1, 1, 1])

    def test_A2_a_failed_claim_takes_nothing(self):
        """Elsewhere a job of four cards whose fourth could not be had kept the three that it already had."""
        self.start()
        for _ in range(3):
            self.run_ok("admin", "sim", "3", "recover")
            self.berth.until(lambda: len(self.free()) == 8, "all cards are free")
            with self.berth.popen("admin", "sim", "3", "lost", stdout=subprocess.DEVNULL) as losing:
                job = self.berth.submit("true", gpus=4, gpu_index=[0, 1, 2, 3])
                self.assertEqual(losing.wait(30), 0)
            self.berth.until(lambda: self.berth.gpus()[3]["state"] == "lost", "card 3 is lost")
            self.berth.until(lambda: self.free() == [0, 1, 2, 4, 5, 6, 7], "the others are free")
            waits = self.berth.job(job)
            if waits["state"] == "PENDING":  # else it was through before the card was lost
                self.assertEqual(waits["devices"], [])
                self.assertEqual(self.ended(self.berth.submit("true", gpus=3, gpu_index=[0, 1, 2]))["state"], "COMPLETED")
                self.run_ok("cancel", str(job))

    def test_A2_a_card_that_another_berth_owns_is_left_out(self):
        """Elsewhere two schedulers on one machine both gave a card away, and the loser leaked the rest of its claim."""
        self.start()
        uuid = self.berth.gpus()[3]["uuid"]
        self.berth.kill()
        for pid in self.berth.pids("berth-exec"):
            os.kill(pid, signal.SIGTERM)
        self.berth.until(lambda: not self.berth.pids("berth-exec"), "berth-exec has ended")
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as owner:
            owner.bind(f"\0berth/{uuid}")
            self.start()
            self.berth.until(lambda: self.free() == [0, 1, 2, 4, 5, 6, 7], "card 3 is left out")
            job = self.berth.submit("true", gpus=4, gpu_index=[0, 1, 2, 3])
            self.assertEqual(self.berth.job(job)["state"], "PENDING")
            self.assertEqual(self.ended(self.berth.submit("true", gpus=7))["state"], "COMPLETED")
        self.assertEqual(self.berth.until_state(job, "COMPLETED")["device_indexes"], [0, 1, 2, 3])

    def test_A5_cancel_frees_the_card(self):
        """Elsewhere a cancel changed the state but not the books, and a full server was chosen again."""
        self.start()
        jobs = [self.berth.submit("sleep", "600", gpus=1) for _ in range(8)]
        for job in jobs:
            self.running(job)
        self.assertEqual(self.free(), [])
        waiting = [self.berth.submit("sleep", "600", gpus=1) for _ in range(2)]
        self.assertEqual([self.berth.job(job)["state"] for job in waiting], ["PENDING"] * 2)
        cards = self.berth.job(jobs[5])["devices"]
        self.run_ok("cancel", str(jobs[5]))
        self.assertEqual(self.running(waiting[0])["devices"], cards)
        other = self.berth.job(waiting[1])
        self.assertEqual((other["state"], other["reason"]["code"], other["devices"]), ("PENDING", "Resources", []))
        self.assertEqual(sorted(gpu["jobs"][0] for gpu in self.berth.gpus()), sorted({*jobs, waiting[0]} - {jobs[5]}))

    def test_A18_the_cards_of_a_job_are_listed_one_by_one(self):
        """Elsewhere CUDA_VISIBLE_DEVICES was written as a range, 0-3, which CUDA does not read."""
        self.start()
        job = self.submit("-G", "4", "-o", "out", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; echo $CUDA_DEVICE_ORDER")
        devices = self.ended(job)["devices"]
        visible, order = self.read("out").splitlines()
        self.assertEqual(visible.split(","), devices)
        self.assertEqual(len(set(devices)), 4)
        for uuid in devices:
            self.assertRegex(uuid, r"^SIM-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        self.assertEqual(order, "PCI_BUS_ID")

    def test_A21_a_job_without_cards_sees_none(self):
        """Elsewhere a job that asked for no card kept the submitter's CUDA_VISIBLE_DEVICES, or saw every card."""
        self.start()
        outside = {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}
        done = self.run_ok("run", "-G", "0", "--", "sh", "-c", 'echo "[$CUDA_VISIBLE_DEVICES]"', env=outside)
        self.assertEqual(done.stdout, "[-1]\n")
        job = self.submit("-G", "0", "-o", "out", "--export", "CUDA_VISIBLE_DEVICES=0", "--", "sh", "-c",
                          'echo "[$CUDA_VISIBLE_DEVICES]"', env=outside)
        self.assertEqual(self.ended(job)["devices"], [])
        self.assertEqual(self.read("out"), "[-1]\n")
        done = self.run_ok("run", "-G", "1", "--", "sh", "-c", 'echo "$CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER"', env=outside)
        self.assertRegex(done.stdout, r"^SIM-\S+ FASTEST_FIRST\n$")  # whoever sets the order keeps it


if __name__ == "__main__":
    case.main()
