import type { Input } from "./check-input.ts";
import { models } from "./models.ts";
import type { Quantities } from "./prediction.ts";

/** A price holds if the model's own fields have the values of `when`. Of the prices of a unit, the first that holds counts. */
type Price = { per: keyof Quantities; micros: number; when: Input };

const price =
  (per: keyof Quantities) =>
  (dollars: number, when: Input = {}): Price => ({ per, micros: Math.round(dollars * 1_000_000), when });
const image = price("image");
const second = price("second");
const run = price("run");

/**
 * The provider's charges for each model, in its own terms. It represents the provider, so it must not be derived from
 * the project's table `model_prices`. Sources: docs/models.md.
 */
const prices: Readonly<Record<string, readonly Price[]>> = {
  "google/nano-banana-2": [
    image(0.067, { resolution: "1K" }),
    image(0.101, { resolution: "2K" }),
    image(0.151, { resolution: "4K" }),
  ],
  "black-forest-labs/flux-2-pro": [run(0.015), price("input_megapixel")(0.015), price("output_megapixel")(0.015)],
  "bytedance/seedream-4.5": [image(0.04)],
  "google/nano-banana-pro": [image(0.3, { resolution: "4K" }), image(0.15)],
  "bytedance/seedream-4": [image(0.03)],
  "black-forest-labs/flux-kontext-pro": [image(0.04)],
  "google/nano-banana": [image(0.039)],
  "kwaivgi/kling-v3-omni-video": [
    second(0.42, { mode: "4k" }),
    second(0.28, { mode: "pro", generate_audio: true }),
    second(0.224, { mode: "pro" }),
    second(0.224, { generate_audio: true }),
    second(0.168),
  ],
  "google/veo-3.1-fast": [second(0.15, { generate_audio: true }), second(0.1)],
  "pixverse/pixverse-v6": [
    second(0.07, { quality: "360p", generate_audio_switch: true }),
    second(0.05, { quality: "360p" }),
    second(0.09, { quality: "540p", generate_audio_switch: true }),
    second(0.07, { quality: "540p" }),
    second(0.12, { quality: "720p", generate_audio_switch: true }),
    second(0.09, { quality: "720p" }),
    second(0.23, { quality: "1080p", generate_audio_switch: true }),
    second(0.18, { quality: "1080p" }),
  ],
  "kwaivgi/kling-v3-video": [
    second(0.42, { mode: "4k" }),
    second(0.336, { mode: "pro", generate_audio: true }),
    second(0.224, { mode: "pro" }),
    second(0.252, { generate_audio: true }),
    second(0.168),
  ],
  "kwaivgi/kling-v2.6": [second(0.14, { generate_audio: true }), second(0.07)],
  "kwaivgi/kling-v2.5-turbo-pro": [second(0.07)],
  "kwaivgi/kling-v2.1": [second(0.09, { mode: "pro" }), second(0.05)],
  "minimax/hailuo-02": [second(0.08, { resolution: "1080p" }), second(0.045)],
  // No source says what ten seconds cost.
  "minimax/hailuo-2.3": [run(0.49, { resolution: "1080p", duration: 6 }), run(0.28, { duration: 6 })],
  "google/veo-3.1": [second(0.4, { generate_audio: true }), second(0.2)],
  "prunaai/p-video": [second(0.04, { resolution: "1080p" }), second(0.02)],
  "bytedance/seedance-2.5": [second(0.1028, { resolution: "480p" }), second(0.2312)],
  "bytedance/seedance-2.0": [
    second(0.08, { resolution: "480p" }),
    second(0.18, { resolution: "720p" }),
    second(0.45, { resolution: "1080p" }),
    second(1, { resolution: "4k" }),
  ],
  "bytedance/seedance-2.0-fast": [second(0.07, { resolution: "480p" }), second(0.15)],
};

/** The cost of a run, in micro-dollars rounded up; null when no price applies. */
export function billOf(model: string, input: Input, quantities: Quantities): number | null {
  const value = (field: string) => input[field] ?? models[model]?.input.fields[field]?.default;
  const fitting = (prices[model] ?? []).filter(({ when }) =>
    Object.entries(when).every(([field, required]) => value(field) === required),
  );
  const counted = new Map(fitting.toReversed().map((one) => [one.per, one.micros * quantities[one.per]]));
  if (counted.size === 0) return null;
  const micros = [...counted.values()].reduce((sum, one) => sum + one, 0);
  return Math.ceil(Number(micros.toFixed(3))); // without the error of binary fractions
}

const PIXELS_OF_MEGAPIXEL = 1024 * 1024;

/** The megapixels of images, each rounded up. */
export const megapixels = (images: readonly { width: number; height: number }[]): number =>
  images.reduce((sum, { width, height }) => sum + Math.ceil((width * height) / PIXELS_OF_MEGAPIXEL), 0);
