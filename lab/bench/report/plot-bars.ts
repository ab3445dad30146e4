import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import type { Table } from "../benchmark.ts";
import { figure } from "./figures.ts";
import { INK, ON_BAR } from "./plot-look.ts";
import { spreadAt } from "./spread-at.ts";
import { isWide, whisker } from "./whisker.ts";

/** The part of a row's height that is between its bars and the next row's. */
const GAP = 0.3;
const THICKEST = 20;
const LABEL_DISTANCE = 6;

/** A group of bars for each row, lying, the first on top; a series for each column, which the legend names. */
export function barSeries(table: Table) {
  return table.columns.map((name, column) => ({
    name,
    type: "custom",
    // The axis reaches from the least to the most.
    encode: { x: [0, 2, 3], y: 1 },
    data: table.rows.flatMap((_, row) => {
      const spread = spreadAt(table, row, column);
      return spread ? [[spread.median, row, spread.min, spread.max]] : [];
    }),
    renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) =>
      bar(api, column, table.columns.length),
  }));
}

/** One bar with its whisker, and behind both its figure. */
function bar(api: CustomSeriesRenderItemAPI, column: number, columns: number) {
  const [median = 0, row = 0, min = 0, max = 0] = [0, 1, 2, 3].map((place) => Number(api.value(place)));
  const [zero = 0, middle = 0] = api.coord([0, row]);
  const [end = 0, from = 0, to = 0] = [median, min, max].map((value) => api.coord([value, row])[0]);
  const [, band = 0] = [api.size?.([0, 1]) ?? []].flat();
  const height = Math.min(THICKEST, (band * (1 - GAP)) / columns);
  const y = middle + (column - (columns - 1) / 2) * height;
  const shape = { x: zero, y: y - height / 2 + 1, width: Math.max(end - zero, 1), height: height - 2, r: 2 };
  return {
    type: "group",
    children: [
      { type: "rect", shape, style: { fill: api.visual("color") } },
      ...(isWide(from, to) ? whisker({ from, to, across: y, lying: true }, INK) : []),
      ...(isWide(from, end) ? whisker({ from, to: end, across: y, lying: true }, ON_BAR).slice(0, -1) : []),
      {
        type: "text",
        style: { text: figure(median), x: Math.max(end, to) + LABEL_DISTANCE, y, fill: INK, verticalAlign: "middle" },
      },
    ],
  };
}
