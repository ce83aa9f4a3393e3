/** The page: which part of it an address shows. */

import { redrawCharts } from "./charts.js";
import { byId } from "./dom.js";
import { fragment } from "./fragment.js";
import { openLive, showLive } from "./live_page.js";
import { refusalNote } from "./messages.js";
import { openPlan, showPlan } from "./plan_page.js";
import { openRead, showRead } from "./read_page.js";
import { asRefusal, ask } from "./server.js";
import { themeButton } from "./theme.js";
import { openTraffic, showTraffic } from "./traffic_page.js";

const PAGES = { plan: showPlan, read: showRead, traffic: showTraffic, live: showLive };
let ready = false;

function route() {
  const { page, values } = fragment();
  const name = Object.hasOwn(PAGES, page) ? page : "plan";
  for (const each of Object.keys(PAGES)) byId(`page-${each}`).hidden = each !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("data-page") === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${byId(`title-${name}`).textContent} · poolsplit`;
  if (ready) PAGES[name](values);
}

/** Goes to the content without leaving the state that the address holds. */
function skip(event) {
  event.preventDefault();
  byId("content").focus();
}

async function start() {
  themeButton(byId("theme"), redrawCharts);
  addEventListener("hashchange", route);
  document.querySelector(".skip")?.addEventListener("click", skip);
  route();
  try {
    const choices = await ask("/api/choices");
    for (const open of [openPlan, openRead, openTraffic, openLive]) open(choices);
    ready = true;
    route();
  } catch (failure) {
    byId("content").prepend(refusalNote(asRefusal(failure)));
  }
}

start();
