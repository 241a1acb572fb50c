"""Ray Data: python with_ray.py scenes.jsonl prompts 4    (a folder of prompts; 4 workers)"""

import sys

import ray

from prompts import build_line


def build(batch):
    return {"text": [build_line(line) for line in batch["text"]]}


if __name__ == "__main__":
    source, target, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    # a task whose worker is killed runs again
    scenes = ray.data.read_text(source, override_num_blocks=workers * 4)
    for n, batch in enumerate(scenes.map_batches(build, batch_size=256).iter_batches(batch_size=None)):
        with open(f"{target}/part-{n:05}.jsonl", "w", encoding="utf-8") as part:
            part.writelines(line + "\n" for line in batch["text"])
