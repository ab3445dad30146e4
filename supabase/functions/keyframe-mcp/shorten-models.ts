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

/** Enough to choose a model; with `model`, everything about that one. */
export function shortModels({ steps }: AnswerOf<"listModels">, { step, model }: Record<string, unknown>): Short {
  const requested = steps.filter((one) => step === undefined || one.step === step);
  if (model !== undefined) {
    const found = requested.flatMap((one) =>
      one.models.filter((each) => each.model === model).map((each) => [one.step, each] as const),
    );
    const alike = [...Map.groupBy(found, ([, each]) => JSON.stringify(each)).values()];
    const models = alike.flatMap((rows) =>
      rows.slice(0, 1).map(([, row]) => ({ ...row, steps: rows.map(([of]) => of).join(", ") })),
    );
    return models.length === 1 ? { ...models[0] } : { models, next: orNull(NO_MODEL, models.length === 0) };
  }
  const same = Map.groupBy(requested, ({ models }) => JSON.stringify(models));
  return {
    models: [...same.values()].flatMap((alike) =>
      (alike[0]?.models ?? []).map((one) => ({ ...shortModel(one), steps: alike.map((each) => each.step).join(", ") })),
    ),
  };
}
const NO_MODEL = "This step has no such model. Call list_models without model for all of them.";
