import { BarChart, CustomChart, LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TitleComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import type { Table } from "../benchmark.ts";
import type { Spread } from "../measure/spread.ts";
import { figure } from "./figures.ts";

use([BarChart, CustomChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

const WIDTH = 720;
const ROW_HEIGHT = 34;
const FRAME_HEIGHT = 130;
const LINES_HEIGHT = 320;

// Middle tones that can be read on a light page and on a dark one: the file is shown on both.
const INK = "#8b949e";
const COLOURS = ["#3b82f6", "#f59e0b", "#10b981", "#ef4444", "#8b5cf6", "#64748b"];

/** An SVG of a table: the medians, with min and max as whiskers where they differ. */
export function plotTable(table: Table): string {
  const isBars = table.plot === "bars";
  const height = isBars ? FRAME_HEIGHT + table.rows.length * table.columns.length * ROW_HEIGHT : LINES_HEIGHT;
  const chart = init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height });
  chart.setOption({
    animation: false,
    color: COLOURS,
    textStyle: { color: INK, fontFamily: "system-ui, sans-serif" },
    title: { text: `${table.caption}, ${table.unit}`, textStyle: { color: INK, fontSize: 14 } },
    legend: { bottom: 0, textStyle: { color: INK } },
    grid: { left: 12, right: 60, top: 40, bottom: 40 },
    ...(isBars ? bars(table) : lines(table)),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${svg}\n`;
}

const value = { type: "value", axisLabel: { color: INK }, splitLine: { lineStyle: { color: INK, opacity: 0.25 } } };
const names = (data: string[]) => ({ type: "category", data, axisLabel: { color: INK, interval: 0 } });
const spreadAt = (table: Table, row: number, column: number): Spread | undefined => {
  const cell = table.rows[row]?.cells[column];
  return typeof cell === "object" && cell !== null ? cell : undefined;
};

/** A group of bars for each row, lying, the first on top. */
function bars(table: Table) {
  const names_ = table.rows.map(({ name }) => name);
  return {
    xAxis: value,
    yAxis: { ...names(names_), inverse: true },
    series: table.columns.map((column, at) => ({
      name: column,
      type: "bar",
      label: {
        show: true,
        position: "right",
        color: INK,
        formatter: (point: { value: number }) => figure(point.value),
      },
      data: names_.map((_, row) => spreadAt(table, row, at)?.median ?? "-"),
    })),
  };
}

/** A line for each row, over the columns. */
function lines(table: Table) {
  return {
    xAxis: names(table.columns),
    yAxis: { ...value, min: 0 },
    series: table.rows.map(({ name }, row) => ({
      name,
      type: "line",
      data: table.columns.map((_, at) => spreadAt(table, row, at)?.median ?? "-"),
    })),
  };
}
