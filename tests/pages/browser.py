"""Headless Chromium, spoken to through its debugging pipe (Chrome DevTools Protocol)."""
import json
import os
import shutil
import subprocess

FLAGS = ('--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-sync', '--disable-background-networking', '--disable-component-update',
         '--hide-scrollbars', '--remote-debugging-pipe')
FRAME = 'new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))'


class Browser:
    """A browser with one tab and a profile of its own in the directory `profile`.

    Use as a context."""

    def __init__(self, profile):
        self.profile, self.number, self.events, self.rest = profile, 0, [], b''

    def __enter__(self):
        program = shutil.which('chromium')
        assert program, 'no chromium here\n  mend: build/setup tests'
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        # the browser reads its commands from descriptor 3 and answers on 4
        self.process = subprocess.Popen(
            ['bash', '-c', f'exec "$@" 3<&{to_browser} 4>&{from_browser}', 'bash', program,
             *FLAGS, f'--user-data-dir={self.profile}', 'about:blank'],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.session = None
        target = self.ask('Target.createTarget', url='about:blank')['targetId']
        attached = self.ask('Target.attachToTarget', targetId=target, flatten=True)
        self.session = attached['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.ask(f'{domain}.enable')
        self.ask('Page.setLifecycleEventsEnabled', enabled=True)
        return self

    def __exit__(self, *_):
        os.close(self.write)
        os.close(self.read)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _message(self):
        while b'\0' not in self.rest:
            more = os.read(self.read, 1 << 20)
            assert more, 'chromium ended'
            self.rest += more
        message, _, self.rest = self.rest.partition(b'\0')
        return json.loads(message)

    def ask(self, method, **parameters):
        """Sends a command, and returns its result; events that come meanwhile are kept."""
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.write, json.dumps(message).encode() + b'\0')
        while (answer := self._message()).get('id') != self.number:
            self.events.append(answer)
        assert 'error' not in answer, f'{method}: {answer["error"]}'
        return answer['result']

    def open(self, page, width, scheme):
        """Opens a file, or a URL, at a width in pixels, light or dark: the faults on the way,
        which are errors on the console, exceptions, and files that could not be loaded."""
        self.events = []
        self.ask('Emulation.setDeviceMetricsOverride', width=width, height=900,
                 deviceScaleFactor=1, mobile=width < 600)
        self.ask('Emulation.setEmulatedMedia',
                 features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        url = page if isinstance(page, str) else page.resolve().as_uri()
        loader = self.ask('Page.navigate', url=url)['loaderId']

        def loaded(event):
            # about:blank's event, or that of the page before, may come late
            of = event.get('params', {})
            return event.get('method') == 'Page.lifecycleEvent' \
                and (of['loaderId'], of['name']) == (loader, 'load')
        while not any(map(loaded, self.events)):
            self.events.append(self._message())
        # events that are still under way come before the answer to this
        self.ask('Runtime.evaluate', expression=FRAME, awaitPromise=True)
        faults = []
        for event in self.events:
            method, of = event.get('method'), event.get('params', {})
            if method == 'Runtime.exceptionThrown':
                faults.append(of['exceptionDetails']['text'])
            elif method == 'Runtime.consoleAPICalled' \
                    and of['type'] in ('error', 'warning', 'assert'):
                faults.append(str(of['args']))
            elif method == 'Log.entryAdded' \
                    and of['entry']['level'] in ('error', 'warning'):
                faults.append(f'{of["entry"]["text"]} {of["entry"].get("url", "")}')
            elif method == 'Network.loadingFailed':
                faults.append(f'not loaded: {of["errorText"]}')
        return faults

    def asked_for(self):
        """The URLs that the page has asked for."""
        return [event['params']['request']['url'] for event in self.events
                if event.get('method') == 'Network.requestWillBeSent']

    def click(self, element):
        """Clicks on the element that an expression gives, as with a mouse."""
        x, y = self.evaluate(f"""(() => {{
            const one = {element}
            one.scrollIntoView({{block: 'center'}})
            const box = one.getBoundingClientRect()
            return [box.x + box.width / 2, box.y + box.height / 2]
        }})()""")
        for kind in ('mousePressed', 'mouseReleased'):
            self.ask('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)

    def evaluate(self, expression):
        """The value of an expression in the page."""
        answer = self.ask('Runtime.evaluate', expression=expression, returnByValue=True,
                          awaitPromise=True)
        assert 'exceptionDetails' not in answer, answer
        return answer['result'].get('value')
