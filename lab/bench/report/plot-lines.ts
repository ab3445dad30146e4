import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import type { Table } from "../benchmark.ts";
import { COLOURS } from "./plot-look.ts";
import { spreadAt } from "./spread-at.ts";
import { isWide, whisker } from "./whisker.ts";

/** Between the whiskers of two lines at one place, which would else cover each other. */
const ASIDE = 5;

/** A line for each row, over the columns, and a whisker at each of its points. */
export function lineSeries(table: Table) {
  return table.rows.flatMap(({ name }, row) => {
    const spreads = table.columns.map((_, column) => spreadAt(table, row, column));
    const color = COLOURS[row % COLOURS.length] ?? "";
    const aside = (row - (table.rows.length - 1) / 2) * ASIDE;
    return [
      {
        name,
        type: "line",
        color,
        symbol: "circle",
        symbolSize: 6,
        connectNulls: true,
        data: spreads.map((spread) => spread?.median ?? null),
      },
      {
        type: "custom",
        color,
        encode: { x: 0, y: [1, 2] },
        data: spreads.flatMap((spread, column) => (spread ? [[column, spread.min, spread.max]] : [])),
        renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => atPoint(api, color, aside),
      },
    ];
  });
}

function atPoint(api: CustomSeriesRenderItemAPI, color: string, aside: number) {
  const [column = 0, min = 0, max = 0] = [0, 1, 2].map((place) => Number(api.value(place)));
  const [middle = 0, from = 0] = api.coord([column, min]);
  const [, to = 0] = api.coord([column, max]);
  const children = isWide(from, to) ? whisker({ from, to, across: middle + aside, lying: false }, color) : [];
  return { type: "group", children };
}
