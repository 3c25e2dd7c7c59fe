"""One open page: the app in a process of its own, which ends with the page, and the page with it."""

from __future__ import annotations

import asyncio

from textual_serve.app_service import AppService

DRIVER = f"{__package__}.driver:FocusedDriver"
PATIENCE_S = 20.0
"""For the app to put settings back and end by itself; then it is killed, and its watchdog puts back."""


class Session(AppService):
    """An app that is heard of when it ends."""

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        return {**super()._build_environment(width, height), "TEXTUAL_DRIVER": DRIVER}

    async def run(self) -> None:
        """Pass on what the app draws; when it has ended, however it did, close the page."""
        await super().run()
        await self.remote_close()

    async def stop(self) -> None:
        """Ask the app to leave, and see that it does."""
        if self._task is None or self._process is None:
            return
        await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
        await self.send_meta({"type": "quit"})
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
        self._task.cancel()  # a process that the app left behind may hold its output open
        await self._task
        self._task = None
