"""The page of a result set."""
from html import escape
from pathlib import Path

from . import sheet, style, svg, words
from .document import document, lines
from .results import comparison, raw_files


def page(result, of_set, of_case):
    """The page of a result set; its drawn pictures: those over all cases, and for each case by name."""
    data = result.data
    styles = style.build_styles(result.builds)
    cases = [case for case in data['cases'] if case['runs']]
    body = [
        '<p class="up"><a href="../index.html">All result sets</a></p>',
        f'<h1>{escape(data["suite"])}, release {escape(data["version"])}</h1>',
        f'<p class="lead">{lines(words.subject(data["suite"]), " · ".join(facts(result)), words.machine(data))}</p>',
        legend(result, styles),
        incomplete(data),
        '<section><h2>In short</h2>',
        '<div class="pair">', *(['<div>', *map(figure, of_set), '</div>'] if of_set else []), summary(result),
        '</div></section>',
        *(section(result, case, of_case[case['name']]) for case in cases),
        configuration(result), raw(result), READING]
    return document(f'{data["suite"]}, release {data["version"]}, {data["date"][:10]}', body)


def facts(result):
    """When, of what tree, how often and long."""
    data = result.data
    runs = [run for case in data['cases'] for run in case['runs']]
    return [data['date'][:16].replace('T', ' ') + ' UTC', f'tree {data["tree"]}', words.rounds({'runs': runs})]


def legend(result, styles):
    """The builds, each with its colour."""
    items = ''.join('<li><svg viewBox="0 0 10 10" aria-hidden="true">'
                    f'<path d="M0 0h10v10H0z" fill="{styles[build["name"]][0]}"/></svg>'
                    f'<b>{escape(build["name"])}</b> {describe(build)}</li>'
                    for build in result.data['builds'])
    return f'<ul class="legend">{items}</ul>'


def describe(build):
    """What a build is, in a few words."""
    count = len(build['patches'])
    return f'{count} patch{"es" if count != 1 else ""}' if count else 'no patches'


def incomplete(data):
    """A warning where the run did not end well."""
    if data['complete']:
        return ''
    cause = f': {data["error"]}' if data['error'] else ''
    return f'<p class="warning"><b>Incomplete</b>{escape(cause)}<br>What was measured before that is shown.</p>'


def summary(result):
    """The comparisons in words."""
    rows = []
    for case in result.data['cases']:
        found = [one for build in result.builds if (one := comparison(case, build))]
        rows.append(f'<tr><th colspan="3" scope="rowgroup">{escape(case["title"])} '
                    f'<span>{escape(words.measure(case["measure"]))}</span></th></tr>')
        rows += [f'<tr><td>{escape(one["build"])}</td>'
                 f'<td class="n">{words.ratio(one["ratio"])}<small>{words.interval(one)}</small></td>'
                 f'<td>{verdict(one, case["better"])}</td></tr>' for one in found]
        if not found:
            rows.append('<tr><td colspan="3">nothing to compare: fewer than two pairs of runs</td></tr>')
    base = escape(result.builds[0])
    return (f'<table class="summary"><thead><tr><th>build</th><th class="n">ratio to {base}</th><th></th></tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table>')


def verdict(found, better):
    """The verdict of a comparison; where the interval includes 1 that stands instead of a percentage."""
    said = words.verdict(found, better)
    change = 'includes 1' if found['includes_one'] else words.change(found)
    return f'<span class="{said.partition(" ")[0]}">{change}</span><small>{said}</small>'


def figure(picture):
    """A picture, in the page itself."""
    return f'<figure>{svg.inline(picture.text, sheet.FOOT - 8)}</figure>'


def section(result, case, drawn):
    """A case: its pictures and all its figures."""
    facts = [f'{words.measure(case["measure"])}, {case["better"]} is better', words.rounds(case),
             *(name if value is None else f'{name} = {value}' for name, value in case['server'].items())]
    return '\n'.join([f'<section><h2>{escape(case["title"])}</h2>',
                      f'<p class="lead">{escape(" · ".join(facts))}</p>',
                      '<div class="grid">', *map(figure, drawn), '</div>', figures(result, case), '</section>'])


def figures(result, case):
    """Every figure of a case: the averages, and their ratios where they were compared."""
    builds = result.builds_of(case)
    names = list(dict.fromkeys(name for run in case['runs'] for name in run['figures']))
    rows = [f'<tr><th scope="row">{escape(words.measure(name))}</th>{"".join(cell(case, build, name) for build in builds)}</tr>'
            for name in [case['measure'], *names]]
    head = ''.join(f'<th class="n">{escape(build)}</th>' for build in builds)
    return (f'<details><summary>All figures: averages, and ratios to {escape(result.builds[0])}</summary>'
            f'<div class="wide" tabindex="0"><table><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
            '</div></details>')


def cell(case, build, name):
    """The average of a figure over a build's runs, and its ratio where it was compared."""
    runs = [run for run in case['runs'] if run['build'] == build]
    values = [run['value'] if name == case['measure'] else run['figures'].get(name) for run in runs]
    values = [value for value in values if value is not None]
    text = words.number(sum(values) / len(values) if values else None)
    if found := comparison(case, build, name):
        text += (f'<small>{words.ratio(found["ratio"])}<br>{words.interval(found)}'
                 f'{"<br>includes 1" if found["includes_one"] else ""}</small>')
    return f'<td class="n">{text}</td>'


def configuration(result):
    """Builds, machine, server and load."""
    data = result.data
    m, disk = data['machine'], data['machine']['disk']
    limit = f'{data["limit"]["iops"]:,} requests/s, by {data["limit"]["by"]}' if data['limit']['iops'] else 'none'
    disk = f'{disk["device"]}, {disk["filesystem"]}, scheduler {disk["scheduler"]}, {"" if disk["rotational"] else "not "}rotational'
    machine = {'CPU': m['cpu'], 'cores': m['cores'], 'memory': words.amount(m['memory_bytes']), 'kernel': m['kernel'],
               'system': m['system'], 'virtual': m['virtual'], 'disk': disk, 'storage limit': limit}
    builds = {build['name']: f'{build["version"]}, {build["comment"]}; patches: {", ".join(build["patches"]) or "none"}; '
                             f'sha256 of the server program {build["sha256"]}' for build in data['builds']}
    run = {'suite': data['suite'], 'tree': data['tree'], 'commit': data['commit'], 'took': f'{data["seconds"]:,.0f} s in all'}
    parts = (('Builds', builds), ('Machine', machine), ('Options of every server', data['server']), ('Load', data['load']),
             ('Run', run))
    return ('<section><h2>Configuration</h2><div class="pair">'
            + ''.join(f'<div><h3>{title}</h3>{terms(values)}</div>' for title, values in parts) + '</div></section>')


def terms(values):
    """A list of names and what they are; an option without a value is one that was given."""
    return '<dl>' + ''.join(f'<dt>{escape(name).replace("_", "_<wbr>")}</dt><dd>{"given" if value is None else escape(str(value))}</dd>'
                            for name, value in values.items()) + '</dl>'


def raw(result):
    """Links to the raw output of every run, and to the record itself."""
    parts = ['<section><h2>Raw output</h2>', '<p><a href="result.json">result.json</a> has every figure; the pictures are in '
             '<a href="pictures/">pictures/</a>.</p>']
    for case in result.data['cases']:
        items = []
        for run in case['runs']:
            links = [f'<a href="{escape(name)}">{kind(run, name)}</a>' for name in raw_files(run)]
            items.append(f'<li>round {run["round"]}, {escape(run["build"])}: {words.number(run["value"])} '
                         f'<span>{" · ".join(links)}</span></li>')
        parts.append(f'<details><summary>{escape(case["title"])}</summary><ul>{"".join(items)}</ul></details>')
    return '\n'.join([*parts, '</section>'])


def kind(run, name):
    """What a raw file is, in a word; of several logs the name."""
    if name in (run['timeline'], run['histogram']):
        return 'over time' if name == run['timeline'] else 'response times'
    return 'log' if len(run['logs']) == 1 else escape(Path(name).name.removesuffix('.gz'))


READING = '''<section><h2>Reading this page</h2>
<p>The builds ran in turn on the same machine, over copies of the same data: once each in every round, the order
reversed from one round to the next. Machines like this are shared and their speed drifts, so an absolute figure says
little by itself. What counts is the <b>ratio</b>: each round gives a pair of runs that stood next to each other, and
the ratio is the geometric mean of the pairs. Its confidence interval is Student’s t on their logarithms. Where the
interval <b>includes 1</b>, this measurement shows no difference; that is not proof that there is none.</p></section>'''
