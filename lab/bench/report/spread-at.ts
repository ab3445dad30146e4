import type { Table } from "../benchmark.ts";
import type { Spread } from "../measure/spread.ts";

/** The figure in a cell; undefined when a cell holds words or nothing. */
export function spreadAt(table: Table, row: number, column: number): Spread | undefined {
  const cell = table.rows[row]?.cells[column];
  return typeof cell === "object" && cell !== null ? cell : undefined;
}
