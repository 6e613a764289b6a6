"""What patches can change in a build, by #include lines."""
import pytest

from millrace.prove.reach import Includes

FILES = {
    'include/shared.h': '',
    'include/other.h': '#include <sub/shared.h>\n',
    'sql/shared.h': '',
    'sql/near.cc': '#include "shared.h"\n',             # that beside it
    'sql/angle.cc': '# include <shared.h>\n',           # any, wherever the compiler looks first
    'sql/far.cc': '  #  include "../include/shared.h"\n',
    'sql/through.cc': '#include "other.h"\n',
    'builddir-x/old.cc': '#include "shared.h"\n',
    'include/sub/shared.h': '',
    'plugin/p/CMakeLists.txt': 'ADD_LIBRARY(p p.cc)\n',
    'plugin/p/p.cc': '',
}


@pytest.fixture
def includes(tmp_path):
    for path, text in FILES.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    # what a patch adds is not there in the vanilla state
    return Includes(tmp_path, {'sql/new.h': None})


@pytest.mark.parametrize('paths, reached', [
    (['include/shared.h'], {'sql/angle.cc', 'sql/far.cc'}),
    (['sql/shared.h'], {'sql/near.cc', 'sql/angle.cc'}),
    (['include/sub/shared.h'], {'include/other.h', 'sql/through.cc', 'sql/angle.cc'}),
    (['include/other.h'], {'sql/through.cc'}),
    (['sql/new.h'], set()),
])
def test_files(includes, paths, reached):
    reach = includes.reach(paths)
    assert reach.files == {*paths, *reached}
    assert 'plugin/p/p.cc' not in reach and 'builddir-x/generated.cc' in reach


def test_what_is_not_source(includes):
    plugin = includes.reach(['plugin/p/CMakeLists.txt', 'plugin/p/names.dep3'])
    assert 'plugin/p/p.cc' in plugin and 'sql/near.cc' not in plugin
    for path in ('plugin/p/names.dep3', 'CMakeLists.txt', 'sql/sql_yacc.yy'):
        assert 'sql/near.cc' in includes.reach([path])
