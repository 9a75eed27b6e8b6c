"""Put one run of the benchmarks into the documentation, so that no figure is typed by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- pasted by benchmarks/run.py --paste -->", "<!-- end -->"
PRECISION = "<!-- pasted by benchmarks/work_precision.py --paste -->"
CORRECTIONS = "<!-- pasted by benchmarks/corrections.py --paste -->"
FACTORS = "<!-- pasted by benchmarks/kept_factors.py --paste -->"
BEAMS = "<!-- pasted by benchmarks/beams.py --paste -->"
MECHANISMS = "<!-- pasted by benchmarks/mechanisms.py --paste -->"
SAME, BARE = "C doing the same work", "bare C"
# The words of the README's tables, in the order in which they are exchanged.
CHINESE = {
    "C, RATTLE written for this pendulum, bare": "C，专为此摆手写的 RATTLE，仅求解",
    "C, with the same bookkeeping as taut": "C，另做与 taut 相同的补偿求和与监测",
    "taut rattle, 4000 starts on one core": "taut rattle，单核，4000 组初值",
    " × bare C, ": " × 仅求解的 C，",
    " × the same": " × 同等工作的 C",
    "wall time per simulated s": "每模拟一秒的实际耗时",
    "time per step": "每步耗时",
    "100 s of this motion": "此运动的 100 s",
    "max abs energy error": "能量误差的最大绝对值",
    "max abs g": "g 的最大绝对值",
    ", Cartesian, ": "，直角坐标，",
    "tolerance": "容差",
}


def into_the_docs(printed, results):
    """All that was printed goes to its page, its heart into the README."""
    replace(ROOT / "docs" / "benchmarks.md", f"```text\n{printed.rstrip()}\n```")
    tables = f"{speed_table(results['rows'])}\n\n{peer_table(results)}"
    replace(ROOT / "README.md", tables)
    replace(ROOT / "README.zh-CN.md", in_chinese(tables))


def in_chinese(tables):
    """The README's tables in the words of the Chinese one."""
    for english, chinese in CHINESE.items():
        tables = tables.replace(english, chinese)
    return tables


def precision_into_the_docs(printed, pictures):
    """What the work-precision benchmark printed and drew."""
    replace(ROOT / "docs" / "benchmarks.md", f"```text\n{printed.rstrip()}\n```", PRECISION)
    for picture in pictures:
        shutil.copy(picture, ROOT / "docs" / "images" / picture.name)


def corrections_into_the_docs(printed):
    """The table of what a correction costs."""
    replace(ROOT / "docs" / "benchmarks.md", printed.rstrip(), CORRECTIONS)


def factors_into_the_docs(printed):
    """The table of what kept factors save."""
    replace(ROOT / "docs" / "benchmarks.md", printed.rstrip(), FACTORS)


def beams_into_the_docs(printed):
    """What the beams' benchmark printed."""
    replace(ROOT / "docs" / "benchmarks.md", f"```text\n{printed.rstrip()}\n```", BEAMS)


def mechanisms_into_the_docs(printed):
    """What the chains' benchmark printed."""
    replace(ROOT / "docs" / "benchmarks.md", f"```text\n{printed.rstrip()}\n```", MECHANISMS)


def replace(page, text, begin=BEGIN):
    """Exchange what stands between the marks on a page."""
    before, _, rest = page.read_text().partition(f"{begin}\n")
    _, _, after = rest.partition(f"\n{END}")
    page.write_text(f"{before}{begin}\n{text}\n{END}{after}")


def speed_table(rows):
    """Time per step, and what it is of C's."""
    value = {row["name"]: row["value"] for row in rows}

    def ratios(name):
        return (
            f"{value[f'{name} ÷ {BARE}']:.2f} × bare C, {value[f'{name} ÷ {SAME}']:.2f} × the same"
        )

    c, bookkeeping = "C RATTLE, bare, per step", "C RATTLE, compensated + monitored, per step"
    lines = [
        "| | time per step | |",
        "|---|---|---|",
        f"| C, RATTLE written for this pendulum, bare | {value[c]:.1f} ns | |",
        f"| C, with the same bookkeeping as taut | {value[bookkeeping]:.1f} ns | |",
    ]
    for name in ("taut rattle", "taut time-element"):
        lines.append(f"| {name} | {value[f'{name}, per step']:.1f} ns | {ratios(name)} |")
    each = f"{value['taut rattle, per step of each']:.1f} ns"
    lines.append(
        f"| taut rattle, 4000 starts on one core | {each} | {ratios('batch, taut rattle')} |"
    )
    return "\n".join(lines)


def peer_table(results):
    """taut and SciPy's solvers at their tight tolerance, on the same equations."""
    lines = [
        "| 100 s of this motion | wall time per simulated s | max abs energy error | max abs g |",
        "|---|---|---|---|",
    ]
    for peer in results["solvers"]:
        ours = peer["method"].startswith("taut")
        if peer["form"] == "Cartesian" and (ours or peer["setting"].endswith("e-10")):
            cost, energy = peer["wall_per_second"] * 1e3, peer["max_energy_error"]
            name = peer["method"] if ours else f"SciPy {peer['method']}"
            said = f"{name}, Cartesian, {peer['setting']}"
            lines.append(f"| {said} | {cost:.4g} ms | {energy:.1e} | {peer['max_g']:.1e} |")
    return "\n".join(lines)
