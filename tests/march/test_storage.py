"""Runs as labelled arrays and on disk: whole, or not at all."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import taut
from taut.march import storage

x, y = taut.coordinates("x y")


@pytest.fixture
def pendulum():
    return taut.System(
        [x, y],
        mass=["m", 1],
        potential=10 * y,
        constraints={"rod": x**2 + y**2 - 1},
        parameters={"m": 1},
    )


@pytest.fixture
def run(pendulum):
    return taut.simulate(
        pendulum, q0=[1, 0], v0=0, duration=1, step=0.01, every=10, parameters={"m": 2}
    )


@pytest.fixture
def batch(pendulum):
    return taut.simulate(pendulum, q0=[[1, 0], [0, -1], [0.6, 0.8]], v0=0, duration=1, step=0.1)


@pytest.fixture
def free():
    system = taut.System([x, y], mass=[1, 1], potential=x**2)
    return taut.simulate(system, q0=[1, 0], v0=0, duration=1, step=0.1)


NAMES = {"q": "q", "v": "v", "p": "p", "reactions": "reactions", "multipliers": "multipliers",
         "g": "constraints", "hidden": "hidden", "energy": "energy"}  # fmt: skip


def test_arrays_are_labelled(run):
    data = run.to_xarray()
    assert set(data.data_vars) == set(NAMES)
    assert dict(data.sizes) == {"t": 11, "coordinate": 2, "constraint": 1}
    assert data.coordinate.values.tolist() == ["x", "y"]
    assert data.constraint.values.tolist() == ["rod"]
    for stored, name in NAMES.items():
        assert np.array_equal(data[stored].values, getattr(run, name))
    assert data.q.dims == data.v.dims == data.p.dims == ("t", "coordinate")
    assert data.reactions.dims == ("t", "coordinate")
    assert data.multipliers.dims == data.g.dims == data.hidden.dims == ("t", "constraint")
    assert data.energy.dims == ("t",)
    assert np.array_equal(data.t.values, run.t)
    assert np.array_equal(data.q.sel(coordinate="y").values, run.q[:, 1])


def test_a_batch_has_one_more_dimension(batch):
    data = batch.to_xarray()
    assert data.q.dims == ("trajectory", "t", "coordinate")
    assert data.energy.dims == ("trajectory", "t")
    assert data.sizes["trajectory"] == 3
    assert np.array_equal(data.multipliers.values, batch.multipliers)


def test_provenance_is_kept(run):
    found = run.to_xarray().attrs
    assert found["taut"] == taut.__version__
    assert found["method"] == "rattle()"
    assert (found["step"], found["every"]) == (0.01, 10)
    assert json.loads(found["parameters"]) == {"m": 2.0}
    assert found["lagrangian"] == "m*x_dot**2/2 - 10*y + y_dot**2/2"
    assert json.loads(found["constraints"]) == ["x**2 + y**2 - 1"]
    assert json.loads(found["forces"]) == ["0", "0"]
    assert json.loads(found["certificate"])["steps"] == 100


@pytest.mark.parametrize("kind", ["run", "batch", "free"])
def test_saved_and_loaded_is_the_same(request, tmp_path, kind):
    given = request.getfixturevalue(kind)
    path = given.save(tmp_path / "deep" / "down" / "run.zarr")
    assert path == tmp_path / "deep" / "down" / "run.zarr"
    known, found = given.to_xarray(), taut.load(path)
    assert found.identical(known)
    assert found.q.dtype == np.float64
    assert taut.load(str(path)).identical(known)
    assert [p.name for p in path.parent.iterdir()] == ["run.zarr"]


def test_a_partial_run_is_saved_too(tmp_path):
    cusp = taut.System([x, y], mass=[1, 1], potential=10 * x, constraints=[y**2 - x**3])
    with pytest.raises(taut.StepError) as caught:
        taut.simulate(cusp, q0=[[1, 1], [0.04, 0.008]], v0=0, duration=0.2, step=0.01)
    part = caught.value.partial
    found = taut.load(part.save(tmp_path / "part.zarr"))
    assert np.array_equal(found.q.values, part.q, equal_nan=True)
    assert np.isnan(found.q.values).any()


def test_a_saved_run_is_overwritten_whole(run, batch, tmp_path):
    path = tmp_path / "run.zarr"
    run.save(path)
    batch.save(path)
    assert taut.load(path).identical(batch.to_xarray())
    free_of_rest = sorted(p.name for p in tmp_path.iterdir())
    assert free_of_rest == ["run.zarr"]


@pytest.mark.parametrize("name", ["run.nc", "run", "zarr", "run.zarr.zip"])
def test_other_formats_are_refused(run, tmp_path, name):
    with pytest.raises(taut.FileError, match="a name ending in"):
        run.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_other_programs_are_named(run, tmp_path):
    with pytest.raises(taut.FileError) as caught:
        run.save(tmp_path / "run.mat")
    assert "run.to_xarray()" in caught.value.remedy


@pytest.mark.parametrize(
    "path", [None, 3, b"a.zarr", ["a.zarr"], "a\0.zarr", "\ud800.zarr", "x" * 300 + ".zarr"]
)
def test_a_path_that_is_none_loses_nothing(run, tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    run.save("old.zarr")
    before = run.q.copy()
    with pytest.raises(taut.FileError):
        run.save(path)
    with pytest.raises(taut.FileError):
        taut.load(path)
    assert [x.name for x in tmp_path.iterdir()] == ["old.zarr"]
    assert np.array_equal(taut.load("old.zarr").q.values, before)
    assert run.save("new.zarr").exists()


def test_what_is_no_run_is_not_overwritten(run, tmp_path):
    file, folder = tmp_path / "file.zarr", tmp_path / "folder.zarr"
    file.write_text("mine")
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine too")
    for path in (file, folder):
        with pytest.raises(taut.FileError, match="is no Zarr store"):
            run.save(path)
    assert file.read_text() == "mine"
    assert (folder / "thesis.txt").read_text() == "mine too"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_that_is_a_file(run, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(taut.FileError, match="cannot write"):
        run.save(tmp_path / "file" / "run.zarr")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "error", [OSError("disk full"), KeyboardInterrupt()], ids=["disk", "Ctrl-C"]
)
def test_nothing_is_left_half_written(run, batch, tmp_path, monkeypatch, error):
    path = tmp_path / "run.zarr"
    batch.save(path)
    known = batch.to_xarray()
    xarray = pytest.importorskip("xarray")
    write = xarray.Dataset.to_zarr

    def breaks(self, target, **options):
        write(self, target, **options)
        raise error

    monkeypatch.setattr(xarray.Dataset, "to_zarr", breaks)
    expected = taut.FileError if isinstance(error, OSError) else KeyboardInterrupt
    for target in (path, tmp_path / "new.zarr"):
        with pytest.raises(expected):
            run.save(target)
    assert [p.name for p in tmp_path.iterdir()] == ["run.zarr"]
    assert taut.load(path).identical(known)


def test_the_old_run_is_put_back_if_the_new_one_cannot_take_its_place(
    run, batch, tmp_path, monkeypatch
):
    path = batch.save(tmp_path / "run.zarr")
    rename = Path.rename

    def breaks(self, target):
        if self.name.endswith(".part"):
            raise OSError("no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", breaks)
    with pytest.raises(taut.FileError, match="cannot write"):
        run.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["run.zarr"]
    assert taut.load(path).identical(batch.to_xarray())


def test_what_an_earlier_crash_left_does_not_matter(run, tmp_path):
    for end in ("part", "old"):
        (tmp_path / f".run.zarr.0badcafe.{end}" / "q").mkdir(parents=True)
    path = run.save(tmp_path / "run.zarr")
    assert taut.load(path).identical(run.to_xarray())
    assert [p.name for p in tmp_path.iterdir()] == ["run.zarr"]


@pytest.mark.parametrize("where", ["compressor", "filters"])
def test_a_store_with_code_in_it_is_not_read(run, tmp_path, monkeypatch, where):
    """Pickles run what they like; that must not depend on what Zarr makes of them."""
    path = run.save(tmp_path / "run.zarr")
    file = path / "q" / ".zarray"
    told = json.loads(file.read_text())
    codec = {"id": "pickle", "protocol": 5}
    file.write_text(json.dumps(told | {where: codec if where == "compressor" else [codec]}))
    with pytest.raises(taut.FileError, match="is not a saved run") as caught:
        taut.load(path)
    assert caught.value.received == "q is written by 'pickle'"


KILLED = """
import os, sys, time
import taut
from taut.march import storage
from pathlib import Path

x, y = taut.coordinates("x y")
pendulum = taut.System([x, y], mass=[1, 1], potential=y, constraints=[x**2 + y**2 - 1])
run = taut.simulate(pendulum, q0=[1, 0], v0=0, duration=0.2, step=0.1, laws=None)
path, stage = Path(sys.argv[1]), sys.argv[2]
run.save(path)

def kill(*_):
    print("killed" if stage != "waits" else "writes", flush=True)
    if stage == "waits":
        time.sleep(60)
    os.kill(os.getpid(), 9)

if stage in ("part", "waits"):
    storage._settle = kill
else:
    rename = Path.rename
    Path.rename = lambda self, to: kill() if self.name.endswith(".part") else rename(self, to)
run.save(path)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("stage", ["part", "between"])
def test_a_process_that_is_killed_leaves_a_store(run, tmp_path, stage):
    path = tmp_path / "run.zarr"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), stage], capture_output=True)
    assert done.stdout == b"killed\n", done.stderr
    assert path.exists() == (stage == "part")
    assert len(taut.load(path).t) == 3  # the old one
    assert len(list(tmp_path.iterdir())) == 2
    run.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["run.zarr"]
    assert taut.load(path).identical(run.to_xarray())


@pytest.mark.skipif(os.name != "posix", reason="locks")
def test_what_another_process_is_writing_is_left_alone(run, tmp_path):
    path = tmp_path / "run.zarr"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), "waits"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "writes\n"
        run.save(path)
        (part,) = (p for p in tmp_path.iterdir() if p != path)
        assert (part / "q").is_dir()
    finally:
        process.kill()
        process.communicate()
    run.save(path)
    assert list(tmp_path.iterdir()) == [path]


def test_what_belongs_to_a_run_of_a_longer_name_is_left_alone(run, batch, tmp_path):
    """It begins like what belongs to this one."""
    short, long = tmp_path / "run.zarr", tmp_path / "run.zarr.b.zarr"
    batch.save(long).rename(tmp_path / ".run.zarr.b.zarr.0badcafe.old")  # killed between two names
    (tmp_path / ".run.zarr.b.zarr.0badcafe.part").mkdir()
    with pytest.raises(taut.FileError, match="there is no"):
        taut.load(short)
    run.save(short)
    assert len(list(tmp_path.iterdir())) == 3
    assert taut.load(long).identical(batch.to_xarray())
    assert taut.load(short).identical(run.to_xarray())
    batch.save(long)
    assert set(tmp_path.iterdir()) == {short, long}


@pytest.fixture
def read(monkeypatch):
    """What is to happen at each attempt to read a store, which then ends in half of it."""
    import xarray

    acts, open_zarr = [], xarray.open_zarr

    def opened(*args, **given):
        if acts:
            acts.pop(0)()
            raise FileNotFoundError("a chunk")
        return open_zarr(*args, **given)

    monkeypatch.setattr(xarray, "open_zarr", opened)
    return acts


def test_a_store_that_is_replaced_while_it_is_read_is_read_again(run, batch, tmp_path, read):
    path = run.save(tmp_path / "run.zarr")
    read[:] = [lambda: batch.save(path), lambda: run.save(path), lambda: batch.save(path)]
    assert taut.load(path).identical(batch.to_xarray())
    assert not read


def test_reading_again_comes_to_an_end(run, tmp_path, read):
    """Where the store is what it was, at once; else after so many attempts."""
    path = run.save(tmp_path / "run.zarr")
    read[:] = [lambda: None] * 2
    with pytest.raises(taut.FileError, match="is not a saved run"):
        taut.load(path)
    assert len(read) == 1
    read[:] = [lambda: (path.rename(tmp_path / "x"), (tmp_path / "x").rename(path))] * 100
    with pytest.raises(taut.FileError, match="is not a saved run"):
        taut.load(path)
    assert len(read) == 100 - storage.TRIES


def test_nothing_to_load(tmp_path):
    with pytest.raises(taut.FileError, match="there is no"):
        taut.load(tmp_path / "none.zarr")
    (tmp_path / "empty.zarr").mkdir()
    (tmp_path / "text.zarr").write_text("not a store")
    for name in ("empty.zarr", "text.zarr"):
        with pytest.raises(taut.FileError, match="is not a saved run"):
            taut.load(tmp_path / name)


def test_a_foreign_store_is_not_a_run(run, tmp_path):
    data = run.to_xarray()
    data.to_zarr(tmp_path / "other.zarr", consolidated=False, zarr_format=2)
    with pytest.raises(taut.FileError):
        taut.load(tmp_path / "other.zarr")


def wreck(path, how):
    raw = path.read_bytes()
    if how == "lost":
        path.unlink()
    elif how == "cut":
        path.write_bytes(raw[: len(raw) // 2])
    else:
        middle = len(raw) // 2
        path.write_bytes(raw[:middle] + bytes([raw[middle] ^ 0xFF]) + raw[middle + 1 :])


@pytest.mark.parametrize("how", ["lost", "cut", "flipped"])
def test_damage_is_noticed(run, tmp_path, how):
    """Every data file of a store in turn: a missing one would otherwise read as zeros."""
    path = run.save(tmp_path / "run.zarr")
    files = [p.relative_to(path) for p in path.rglob("*") if p.is_file()]
    data = [p for p in files if not p.name.startswith(".z")]
    assert len(data) >= 10
    for part in [*data, *(p for p in files if p.name == ".zarray" and how != "flipped")]:
        hurt = tmp_path / "hurt.zarr"
        shutil.rmtree(hurt, ignore_errors=True)
        shutil.copytree(path, hurt)
        wreck(hurt / part, how)
        with pytest.raises(taut.FileError):
            taut.load(hurt)
    assert storage.load(path).identical(run.to_xarray())


def test_long_equations_are_not_written_out(tmp_path):
    m = taut.Mechanism()
    for k in range(2):
        m.body(f"body {k}", mass=1, inertia=(1, 1, 1), at=(k, 0, 0))
    ends = (0, 1, 0), (1, 1, 1)
    m.spring("body 0", "body 1", ends=ends, stiffness=1, damping=1)
    run = taut.simulate(m, duration=0.02, step=0.01, laws=None)
    run.save(tmp_path / "run.zarr")
    found = taut.load(tmp_path / "run.zarr").attrs
    shown = json.loads(found["forces"])
    assert shown[0].startswith("an expression of ")
    assert len(found["forces"]) < 10_000
    assert json.loads(found["constraints"])[0].startswith("d1x_body 0**2")
