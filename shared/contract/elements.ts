import { z } from "zod";
import { changeBody, id, line, listOf, nextCursor, referenceImagePath, text, time } from "./fields.ts";
import { SAMPLE_ELEMENT } from "./samples.ts";

const kind = z.enum(["character", "place", "prop", "style"]);
const kindText = "A label for people; it doesn't change the result.";

const name = line(1, 60)
  .refine((value) => !/^\s|\s$|@/u.test(value), "Must not contain @ or begin or end with a space.")
  .describe("A prompt names it as @name. Case and Unicode form (NFC, NFD) do not matter. One line without @.");

const lookText = "What it looks like. A start that uses it adds it to the prompt as a line `name: text`.";
const look = text(0, 1000);

export const elementIds = (most: number) => listOf(id, most);

const imagesText = "Uploaded images of it, in order. A start that uses it sends them as references.";
const images = listOf(referenceImagePath, 8);

export const createElementBody = z
  .strictObject({
    kind: kind.default("character").describe(`${kindText} Default: character.`),
    name,
    text: look.default("").describe(`${lookText} Default: empty.`),
    imagePaths: images.default([]).describe(`${imagesText} Default: none.`),
  })
  .meta({ id: "CreateElement" });

export const changeElementBody = changeBody("ChangeElement", {
  kind: kind.optional().describe(kindText),
  name: name.optional(),
  text: look.optional().describe(lookText),
  imagePaths: images.optional().describe("The complete list. An image that nothing uses any more is removed."),
});

export const elementPath = z.strictObject({ elementId: id });

const fields = { elementId: id, name: z.string(), text: z.string(), imagePaths: z.array(referenceImagePath) };

export const element = z
  .object({
    ...fields,
    kind: kind.describe(kindText),
    createdAt: time,
    updatedAt: time.describe("Updated by every change; the ETag is this value in quotes."),
  })
  .meta({ id: "Element", examples: [SAMPLE_ELEMENT] });
export type Element = z.infer<typeof element>;

export const elementPage = z.object({ elements: z.array(element), nextCursor }).meta({ id: "ElementPage" });

/** An element in the input of a prediction. */
export const usedElement = z
  .strictObject({ ...fields, updatedAt: time })
  .meta({ id: "UsedElement", description: "An element as it was when the prediction was started." });
