"""Static files: their addresses change with their content, so browsers may keep them."""

import re

from app.dashboard.assets import KEPT_FOREVER
from tests.dashboard.site import DashboardSite


def test_a_browser_keeps_the_files_of_a_page_until_they_change(site: DashboardSite) -> None:
    site.sign_in("admin")
    addresses = re.findall(r'"(/dashboard/static/[^"]+)"', site.page(since="", until=""))
    assert len(addresses) >= 5
    for address in addresses:
        with site.client.get(address, base_url=site.host) as answer:
            assert answer.status_code == 200
            assert answer.headers["cache-control"] == KEPT_FOREVER


def test_a_file_of_another_version_is_not_kept(site: DashboardSite) -> None:
    for query in ("?v=000000000000", ""):
        with site.client.get(f"/dashboard/static/base.css{query}", base_url=site.host) as answer:
            assert answer.status_code == 200
            assert answer.headers["cache-control"] != KEPT_FOREVER
    assert site.client.get("/dashboard/static/none.css?v=", base_url=site.host).status_code == 404
