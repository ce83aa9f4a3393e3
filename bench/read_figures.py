"""How many printed figures of the real log fragments follow from published models to the printed digit.

    python bench/read_figures.py ../shared/bootlogs

The paste's own facts name the model and its flags; the bytes come from the embedded catalog.
"""

import argparse
import pathlib

from poolsplit import api

LAUNCHES = {
    "sgl-glm53flash-tp4-cap200": {"model_path": "zai-org/GLM-5.3-Flash", "tp_size": 4},
    "sgl-granite40h-micro-tp1": {"model_path": "ibm-granite/granite-4.0-h-micro"},
    "sgl-k3class-tp8-fp8kv": {"model_path": "moonshotai/Kimi-K3", "tp_size": 8, "kv_cache_dtype": "fp8_e4m3"},
    "sgl-lfm2-tp1-convonly": {"model_path": "LiquidAI/LFM2-700M"},
    "sgl-ling30-flash-fin-gb10": {"model_path": "inclusionAI/Ling-3.0-flash"},
    "sgl-nemotron9b-pdmux-48": {
        "model_path": "nvidia/NVIDIA-Nemotron-Nano-9B-v2",
        "disable_radix_cache": True,
        "max_running_requests": 48,
        "disable_overlap_schedule": True,
    },
    "sgl-nemotronh-xpu-tp4-8": {
        "model_path": "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
        "tp_size": 4,
        "disable_radix_cache": True,
        "max_running_requests": 8,
    },
    "sgl-qwen35-9b-tp2-4090": {
        "model_path": "Qwen/Qwen3.5-9B",
        "tp_size": 2,
        "mem_fraction_static": 0.8,
        "mamba_radix_cache_strategy": "no_buffer",
        "disable_overlap_schedule": True,
    },
    "sgl-qwen38-27b-eagle-v0517": {
        "model_path": "Qwen/Qwen3.8-27B",
        "mamba_ssm_dtype": "bfloat16",
        "speculative_algorithm": "EAGLE",
        "speculative_num_steps": 5,
        "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": 6,
        "max_running_requests": 4,
    },
    "sgl-qwen38-27b-fp8-mi-oom": {"model_path": "Qwen/Qwen3.8-27B", "mem_fraction_static": 0.25},
    "sgl-qwen38-27b-nvfp4-gb10-360": {
        "model_path": "Qwen/Qwen3.8-27B",
        "kv_cache_dtype": "fp8_e4m3",
        "max_running_requests": 72,
        "max_mamba_cache_size": 360,
    },
}


def main() -> None:
    """Prints one line a log and the sum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=pathlib.Path)
    follows = printed = sizes = size_follows = 0
    logs = parser.parse_args().logs
    for name, flags in LAUNCHES.items():
        answer = api.read_log([str(logs / f"{name}.log")], extra_flags=flags)
        if not answer.predictions:
            print(f"{name}: nothing predicted: {answer.predictions_reason}")
            continue
        best = answer.predictions[0]
        follows += best.following
        printed += len(best.figures)
        of_size = [each for each in best.figures if each.unit in ("GiB", "MiB")]
        sizes += len(of_size)
        size_follows += sum(each.follows for each in of_size)
        misses = "; ".join(
            f"{each.rank} {each.name}: printed {each.printed}, rules give {each.predicted:.4f}"
            for each in best.figures
            if not each.follows
        )
        print(f"{name}: {best.following} of {len(best.figures)} under {best.version} {best.refused or ''} {misses}")
    print(
        f"{follows} of {printed} printed figures follow; {size_follows} of {sizes} of them sizes, to the printed digit"
    )


if __name__ == "__main__":
    main()
