import { z } from "zod";
import { type ServiceFigures, serviceFigures } from "../../../shared/contract/service.ts";

/** Figures of which every part was read. */
export type AllFigures = { [Part in keyof ServiceFigures]: NonNullable<ServiceFigures[Part]> };

/** Figures in which every number is another one, every switch is on, every choice its first, every text null, every list empty and the sweep the only job. */
export function sampleFigures(): AllFigures {
  let last = 100;
  const sampleOf = (schema: unknown): unknown => {
    if (schema instanceof z.ZodNullable)
      return schema.unwrap() instanceof z.ZodString ? null : sampleOf(schema.unwrap());
    if (schema instanceof z.ZodObject) {
      return Object.fromEntries(Object.entries(schema.shape).map(([name, inner]) => [name, sampleOf(inner)]));
    }
    if (schema instanceof z.ZodArray) return [];
    if (schema instanceof z.ZodRecord)
      return schema.valueType instanceof z.ZodObject ? { sweep: sampleOf(schema.valueType) } : {};
    if (schema instanceof z.ZodEnum) return schema.options[0];
    if (schema instanceof z.ZodBoolean) return true;
    if (schema instanceof z.ZodString) return "text";
    last += 1;
    return last;
  };
  return serviceFigures.parse(sampleOf(serviceFigures)) as AllFigures;
}
