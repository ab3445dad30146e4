import type { AnswerOf } from "../../../shared/contract/operations/index.ts";

export type Short = Record<string, unknown>;
export const orNull = <Value>(value: Value, isShown: boolean): Value | null => (isShown ? value : null);

type Models = AnswerOf<"listModels">["steps"][number];
type Model = Models["models"][number];

/** 3 to 15, or 4, 6, 8. */
function valuesText(values: unknown[] = []): string {
  const [first, last] = [Number(values[0]), Number(values.at(-1))];
  const isRange = values.length > 3 && values.every((value, index) => value === first + index);
  return isRange ? `${first} to ${last}` : values.join(", ");
}

/** The fields that are needed to choose a model. */
function shortModel({ model, isDefault, available, acceptsFaces, notes, prices, controls }: Model): Short {
  const ofMetric = Map.groupBy(prices, ({ metric }) => metric);
  const price = [...ofMetric].map(([metric, all]) => {
    const [least, most] = [Math.min, Math.max].map((of) => of(...all.map(({ priceUsd }) => priceUsd)));
    return `$${least === most ? least : `${least} to ${most}`} per ${metric}`;
  });
  const { aspectRatio: _, prompt: __, resolution, durationSeconds, audio, referenceImages, ...others } = controls;
  const named = Object.entries(others).map(([name, { required }]) => (required ? `${name} (required)` : name));
  return {
    model,
    isDefault: orNull(true, isDefault),
    available: orNull(false, !available),
    price: price.join(" + ") || "unknown",
    resolution: valuesText(resolution?.values),
    durationSeconds: valuesText(durationSeconds?.values),
    takes: [...named, audio && "audio", referenceImages && `referenceImages (${referenceImages.max})`]
      .filter((one) => one !== undefined)
      .join(", "),
    acceptsFaces: orNull(acceptsFaces, acceptsFaces === "no"),
    notes,
  };
}

/** Enough to choose a model; with `model`, everything about that one. A model that is alike in several steps is one entry. */
export function shortModels({ steps }: AnswerOf<"listModels">, { step, model }: Record<string, unknown>): Short {
  const found = new Map<string, { row: Model; steps: string }>();
  for (const one of steps.filter((each) => step === undefined || each.step === step))
    for (const row of one.models.filter((each) => model === undefined || each.model === model)) {
      const key = JSON.stringify(row);
      const before = found.get(key);
      found.set(key, { row, steps: before ? `${before.steps}, ${one.step}` : one.step });
    }
  const models = [...found.values()].map(({ row, steps: ofRow }) => ({
    ...(model === undefined ? shortModel(row) : row),
    steps: ofRow,
  }));
  if (model === undefined) return { models };
  return models.length === 1 ? { ...models[0] } : { models, next: orNull(NO_MODEL, models.length === 0) };
}
const NO_MODEL = "This step has no such model. Call list_models without model for all of them.";
