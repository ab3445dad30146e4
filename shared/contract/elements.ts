import { z } from "zod";
import { changeBody, id, line, nextCursor, pageQuery, referenceImagePath, text, time } from "./fields.ts";
import { SAMPLE_ELEMENT } from "./samples.ts";

const kind = z.enum(["character", "place", "prop", "style"]);
const kindText = "A label for people; it doesn't change the result.";

const name = line(1, 60)
  .refine((value) => !/^\s|\s$|@/u.test(value), "Must not contain @ or begin or end with a space.")
  .meta({
    description: "A prompt names it as @name. Case and Unicode form (NFC, NFD) do not matter. One line without @.",
  });

const lookText = "What it looks like. A start that uses it adds it to the prompt as a line `name: text`.";
const look = text(0, 1000);

/** A list in which nothing is twice. */
const listOf = (item: z.ZodString | typeof id, most: number) =>
  z
    .array(item)
    .max(most, `Must have at most ${most}.`)
    .refine((all) => new Set(all.map((one) => one.toLowerCase())).size === all.length, "Must not contain one twice.")
    .meta({ uniqueItems: true });
export const elementIds = (most: number) => listOf(id, most);

const imagesText = "Uploaded images of it, in order. A start that uses it sends them as references.";
const images = listOf(referenceImagePath, 8);

export const createElementBody = z
  .strictObject({
    kind: kind.default("character").meta({ description: `${kindText} Default: character.` }),
    name,
    text: look.default("").meta({ description: `${lookText} Default: empty.` }),
    imagePaths: images.default([]).meta({ description: `${imagesText} Default: none.` }),
  })
  .meta({ id: "CreateElement" });

export const changeElementBody = changeBody("ChangeElement", {
  kind: kind.optional().meta({ description: kindText }),
  name: name.optional(),
  text: look.optional().meta({ description: lookText }),
  imagePaths: images
    .optional()
    .meta({ description: "The complete list. An image that nothing uses any more is removed." }),
});

export const elementPath = z.strictObject({ elementId: id });

export const listElementsQuery = z.strictObject(pageQuery);

const fields = { elementId: id, name: z.string(), text: z.string(), imagePaths: z.array(referenceImagePath) };

export const element = z
  .object({
    ...fields,
    kind: kind.meta({ description: kindText }),
    createdAt: time,
    updatedAt: time.meta({ description: "Updated by every change; the ETag is this value in quotes." }),
  })
  .meta({ id: "Element", examples: [SAMPLE_ELEMENT] });
export type Element = z.infer<typeof element>;

export const elementPage = z.object({ elements: z.array(element), nextCursor }).meta({ id: "ElementPage" });

/** In the input of a prediction. */
export const usedElement = z
  .strictObject({ ...fields, updatedAt: time })
  .meta({ id: "UsedElement", description: "An element as it was when the prediction was started." });
