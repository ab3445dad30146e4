import { CustomChart, LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TitleComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import type { Table } from "../benchmark.ts";
import { barSeries } from "./plot-bars.ts";
import { COLOURS, FONT, INK } from "./plot-look.ts";
import { lineSeries } from "./plot-lines.ts";
import { wrapText } from "./wrap-text.ts";

use([CustomChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

const WIDTH = 720;
const BAR_HEIGHT = 20;
const NAME_LINE_HEIGHT = 14;
const ROW_GAP = 12;
const LINES_HEIGHT = 260;
const AXIS_HEIGHT = 30;
const LEGEND_HEIGHT = 30;
const LINE_HEIGHT = 18;
const TITLE_CHARACTERS = 84;
const NAME_CHARACTERS = 34;
/** Of the widest of the fonts that readers may have: there is no page here to measure a text on. */
const CHARACTER_WIDTH = 7.3;

/** An SVG of a table: the medians, with min and max as whiskers where they differ. */
export function plotTable(table: Table): string {
  const isBars = table.plot === "bars";
  const title = wrapText(`${table.caption}, ${table.unit}`, TITLE_CHARACTERS);
  const names = isBars ? table.rows.map(({ name }) => wrapText(name, NAME_CHARACTERS)) : [];
  const longest = Math.max(0, ...names.flat().map(({ length }) => length));
  const isLegendShown = (isBars ? table.columns : table.rows).length > 1;
  const mostLines = Math.max(0, ...names.map(({ length }) => length));
  const rowHeight = ROW_GAP + Math.max(mostLines * NAME_LINE_HEIGHT, table.columns.length * BAR_HEIGHT);
  const top = title.length * LINE_HEIGHT + 18;
  const inside = isBars ? table.rows.length * rowHeight : LINES_HEIGHT;
  const bottom = AXIS_HEIGHT + (isLegendShown ? LEGEND_HEIGHT : 0);

  const values = { type: "value", axisLabel: { color: INK }, splitLine: { lineStyle: { color: INK, opacity: 0.25 } } };
  const categories = {
    type: "category",
    data: isBars ? names.map((lines) => lines.join("\n")) : table.columns,
    axisLabel: { color: INK, interval: 0, lineHeight: NAME_LINE_HEIGHT },
    axisLine: { lineStyle: { color: INK } },
    axisTick: { show: false },
  };
  const chart = init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height: top + inside + bottom });
  chart.setOption({
    animation: false,
    color: COLOURS,
    textStyle: { color: INK, fontFamily: FONT },
    title: {
      text: title.join("\n"),
      left: 4,
      top: 4,
      textStyle: { color: INK, fontSize: 13, lineHeight: LINE_HEIGHT },
    },
    ...(isLegendShown ? { legend: { bottom: 0, itemGap: 28, textStyle: { color: INK } } } : {}),
    grid: { left: isBars ? 20 + longest * CHARACTER_WIDTH : 64, right: 64, top, bottom, outerBoundsMode: "none" },
    ...(isBars
      ? { xAxis: values, yAxis: { ...categories, inverse: true }, series: barSeries(table) }
      : { xAxis: categories, yAxis: { ...values, min: 0 }, series: lineSeries(table) }),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${svg}\n`;
}
