import type { InputSchema } from "../../local/simulator/model-schemas.ts";
import { checkExtras, checkRequired } from "./check-extras.ts";
import { checkDurations, checkReferences } from "./check-limits.ts";
import { checkMapping, checkOverlaps } from "./check-mapping.ts";
import type { Finding } from "./finding.ts";
import type { ModelRow } from "./model-row.ts";

/** Everything in which a row does not fit its model's published input. */
export function checkRow(row: ModelRow, schema: InputSchema): Finding[] {
  const complaints = [
    ...checkMapping(row, schema),
    ...checkOverlaps(row),
    ...checkReferences(row, schema),
    ...checkDurations(row, schema),
    ...checkExtras(row, schema),
    ...checkRequired(row, schema),
  ];
  return complaints.map((complaint) => ({ step: row.step, model: row.model, ...complaint }));
}
