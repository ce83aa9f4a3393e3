/** One answer as a page of its own: the views of the page, without a server behind them. */

import { redrawCharts } from "./charts.js";
import { byId } from "./dom.js";
import { planView } from "./plan_view.js";
import { readView } from "./read_view.js";
import { replayView } from "./replay_view.js";
import { surfaceView } from "./surface_view.js";
import { themeButton } from "./theme.js";

const VIEWS = { plan: planView, read: readView, replay: replayView, surface: surfaceView };

function show() {
  const answer = JSON.parse(byId("document").textContent ?? "");
  byId("content").append(...VIEWS[answer.command](answer));
  themeButton(byId("theme"), redrawCharts);
}

show();
