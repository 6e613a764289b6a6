"""The page of a result set, and the overview of all: HTML that needs no other file to be read."""
from html import escape
from pathlib import Path

from . import sheet, style, svg, words
from .results import comparison, raw_files

STYLE = Path(__file__).with_name('page.css')


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
        '<div class="pair"><div>', *map(figure, of_set), '</div>', summary(result), '</div></section>',
        *(section(result, case, of_case[case['name']]) for case in cases),
        configuration(result), raw(result), READING]
    return document(f'{data["suite"]}, release {data["version"]}, {data["date"][:10]}', body)


def overview(results, others):
    """The overview: every result set, and `others`: directories of records made by hand, with titles."""
    body = ['<h1>Measured</h1>', '<p class="lead">Each set is one run of one suite: builds side by side, on one machine, '
            'in turn. The newest first.</p>', '<ul class="sets">']
    for result in results:
        data = result.data
        body.append(f'<li><a href="{escape(result.name)}/index.html"><b>{escape(data["suite"])}</b> '
                    f'{escape(data["version"])}</a>{"" if data["complete"] else " <i>incomplete</i>"}'
                    f'<p>{lines(words.subject(data["suite"]), " · ".join([*facts(result), ", ".join(result.builds)]), words.machine(data))}'
                    '</p></li>')
    body.append('</ul>')
    if others:
        body.append('<h2>Recorded by hand</h2><ul>')
        body += [f'<li><a href="{escape(name)}/README.md">{escape(title)}</a> <span>{escape(name)}</span></li>' for name, title in others]
        body.append('</ul>')
    return document('Measured', body)


def document(title, body):
    """A whole HTML document."""
    sheet = ' '.join(STYLE.read_text(encoding='utf-8').split()) + style.dark_rules()
    return '\n'.join(['<!DOCTYPE html>', '<html lang="en">', '<meta charset="utf-8">', f'<title>{escape(title)}</title>',
                      '<meta name="viewport" content="width=device-width, initial-scale=1">',
                      '<meta name="color-scheme" content="light dark">', '<link rel="icon" href="data:,">',
                      f'<style>{sheet}</style>', '<main>', *filter(None, body), '</main>', '</html>', ''])


def lines(*texts):
    """Texts below one another, without those that say nothing."""
    return '<br>'.join(escape(text) for text in texts if text)


def facts(result):
    """When, of what tree, how often and long."""
    data = result.data
    rounds = {words.rounds(case) for case in data['cases'] if case['runs']}
    return [data['date'][:16].replace('T', ' ') + ' UTC', f'tree {data["tree"]}',
            rounds.pop() if len(rounds) == 1 else f'{len(data["cases"])} cases']


def legend(result, styles):
    """The builds, each with its colour."""
    items = ''.join(f'<li><svg viewBox="0 0 10 10" aria-hidden="true"><path d="M0 0h10v10H0z" fill="{styles[build["name"]][0]}"/></svg>'
                    f'<b>{escape(build["name"])}</b> {escape(describe(build))}</li>' for build in result.data['builds'])
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
        rows.append(f'<tr><th colspan="3" scope="rowgroup">{escape(case["title"])} <span>{escape(words.measure(case["measure"]))}</span></th></tr>')
        rows += [f'<tr><td>{escape(one["build"])}</td><td class="n">{words.ratio(one["ratio"])}<small>{words.interval(one)}</small></td>'
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
    options = ''.join(f' · {name}' + (f' = {value}' if value is not None else '') for name, value in case['server'].items())
    return '\n'.join([f'<section><h2>{escape(case["title"])}</h2>',
                      f'<p class="lead">{escape(words.measure(case["measure"]))}, {case["better"]} is better · {words.rounds(case)}{escape(options)}</p>',
                      '<div class="grid">', *map(figure, drawn), '</div>', figures(result, case), '</section>'])


def figures(result, case):
    """Every figure of a case: the averages, and their ratios where they were compared."""
    builds = result.builds_of(case)
    names = list(dict.fromkeys(name for run in case['runs'] for name in run['figures']))
    rows = []
    for name in [case['measure'], *names]:
        cells = []
        for build in builds:
            runs = [run for run in case['runs'] if run['build'] == build]
            values = [run['value'] if name == case['measure'] else run['figures'].get(name) for run in runs]
            values = [value for value in values if value is not None]
            found = comparison(case, build, name)
            cells.append(f'<td class="n">{words.number(sum(values) / len(values) if values else None)}'
                         + (f'<small>{words.ratio(found["ratio"])} ({words.interval(found)}){"" if not found["includes_one"] else "<br>includes 1"}</small>' if found else '')
                         + '</td>')
        rows.append(f'<tr><th scope="row">{escape(words.measure(name))}</th>{"".join(cells)}</tr>')
    head = ''.join(f'<th class="n">{escape(build)}</th>' for build in builds)
    return (f'<details><summary>All figures: averages, and ratios to {escape(result.builds[0])}</summary><div class="wide" tabindex="0">'
            f'<table><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div></details>')


def configuration(result):
    """Builds, machine, server and load."""
    data = result.data
    m, disk = data['machine'], data['machine']['disk']
    limit = f'{data["limit"]["iops"]:,} requests/s, by {data["limit"]["by"]}' if data['limit']['iops'] else 'none'
    machine = {'CPU': m['cpu'], 'cores': m['cores'], 'memory': words.amount(m['memory_bytes']), 'kernel': m['kernel'],
               'system': m['system'], 'virtual': m['virtual'],
               'disk': f'{disk["device"]}, {disk["filesystem"]}, scheduler {disk["scheduler"]}, {"rotational" if disk["rotational"] else "not rotational"}',
               'storage limit': limit}
    builds = {build['name']: f'{build["version"]}, {build["comment"]}; patches: {", ".join(build["patches"]) or "none"}; '
                             f'sha256 of mariadbd {build["sha256"]}' for build in data['builds']}
    run = {'suite': data['suite'], 'tree': data['tree'], 'commit': data.get('commit'), 'took': f'{data["seconds"]:,.0f} s in all'}
    parts = (('Builds', builds), ('Machine', machine), ('Options of every server', data['server']), ('Load', data['load']), ('Run', run))
    return ('<section><h2>Configuration</h2><div class="pair">'
            + ''.join(f'<div><h3>{title}</h3>{terms(values)}</div>' for title, values in parts) + '</div></section>')


def terms(values):
    """A list of names and what they are; an option without a value is one that was given."""
    return '<dl>' + ''.join(f'<dt>{escape(str(name)).replace("_", "_<wbr>")}</dt><dd>{escape("given" if value is None else str(value))}</dd>'
                            for name, value in values.items()) + '</dl>'


def raw(result):
    """Links to the raw output of every run, and to the record itself."""
    parts = ['<section><h2>Raw output</h2>', '<p><a href="result.json">result.json</a> has every figure; the pictures are in '
             '<a href="pictures/">pictures/</a>.</p>']
    for case in result.data['cases']:
        items = []
        for run in case['runs']:
            links = [f'<a href="{escape(name)}">{kind(run, name)}</a>' for name in raw_files(run)]
            items.append(f'<li>round {run["round"]}, {escape(run["build"])}: {words.number(run["value"])} <span>{" · ".join(links)}</span></li>')
        parts.append(f'<details><summary>{escape(case["title"])}</summary><ul>{"".join(items)}</ul></details>')
    return '\n'.join([*parts, '</section>'])


def kind(run, name):
    """What a raw file is, in a word."""
    return {run['timeline']: 'over time', run['histogram']: 'response times'}.get(name) or escape(Path(name).name.removesuffix('.gz'))


READING = '''<section><h2>Reading this page</h2>
<p>The builds ran in turn on the same machine, over copies of the same data: once each in every round, the order
reversed from one round to the next. Machines like this are shared and their speed drifts, so an absolute figure says
little by itself. What counts is the <b>ratio</b>: each round gives a pair of runs that stood next to each other, and
the ratio is the geometric mean of the pairs. Its confidence interval is Student’s t on their logarithms. Where the
interval <b>includes 1</b>, this measurement shows no difference; that is not proof that there is none.</p></section>'''
