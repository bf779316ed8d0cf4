import subprocess
import sys
from pathlib import Path

from emu.cpu.cache import FileCache
from emu.cpu.translator.checks import Checks
from emu.cpu.translator.library import Library

ROOT = Path(__file__).parents[2]


def test_the_second_library_loads_what_the_first_one_made(tmp_path):
    first, second = Library(tmp_path), Library(tmp_path)
    assert first.helpers(Checks()).keys() == second.helpers(Checks()).keys()
    assert (first.made, second.made) == (1, 0)
    assert first.helpers(Checks(bounds=True)) != first.helpers(Checks())
    assert first.made == 2


def test_a_damaged_object_is_made_again(tmp_path):
    Library(tmp_path).helpers(Checks())
    (path,) = tmp_path.glob("*/*")
    path.write_bytes(path.read_bytes()[:-100])
    again = Library(tmp_path)
    assert again.helpers(Checks())["run"]
    assert again.made == 1
    assert Library(tmp_path).helpers(Checks())
    (path,) = tmp_path.glob("*/*")
    FileCache(tmp_path).put(path.name, b"no object file")
    broken = Library(tmp_path)
    assert broken.helpers(Checks())["run"]
    assert broken.made == 1


def test_processes_share_a_folder_while_they_fill_it(tmp_path):
    program = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from emu.image import load_image\n"
        "from emu.cpu.engine import Engine\n"
        "from emu.cpu.options import EngineOptions\n"
        "engine = Engine(load_image(Path(sys.argv[2]) / 'golden/firmware/esp32s3-bare.elf'),\n"
        "                EngineOptions(cache_dir=Path(sys.argv[1])))\n"
        "for _ in range(3):\n"
        "    print(engine.call('crc32_bytes', [engine.arena.start, 1000]).a2)\n"
    )
    command = [sys.executable, "-c", program, tmp_path, ROOT]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = {run.communicate(timeout=120)[0] for run in runs}
    assert len(outputs) == 1
    assert len(outputs.pop().split()) == 3
    assert all(run.returncode == 0 for run in runs)
