import { z } from "zod";
import { changeBody, id, line, nextCursor, pageQuery, referenceImagePath, text, time } from "./fields.ts";
import { SAMPLE_ELEMENT } from "./samples.ts";

const kind = z.enum(["character", "place", "prop", "style"]).meta({
  id: "ElementKind",
  description: "For people: a start treats all alike.",
});

const name = line(1, 60)
  .refine((value) => !/^\s|\s$|@/u.test(value), "Must not contain @ or begin or end with a space.")
  .meta({ description: "A prompt names it as @name, in any case of its letters. One line without @." });

const lookText = "What it looks like. A start that uses it adds it to the prompt as a line `name: text`.";
const look = text(0, 1000).meta({ description: lookText });

const isDistinct = (values: string[]) => new Set(values.map((one) => one.toLowerCase())).size === values.length;

const images = z
  .array(referenceImagePath)
  .max(8, "An element has at most 8 images.")
  .refine((paths) => new Set(paths).size === paths.length, "An image can be in it only once.")
  .meta({
    uniqueItems: true,
    description: "Uploaded images of it, in order. A start that uses it sends them as references.",
  });

/** A list of elements. */
export const elementIds = (most: number) =>
  z
    .array(id)
    .max(most, `At most ${most} elements.`)
    .refine(isDistinct, "An element can be in it only once.")
    .meta({ uniqueItems: true });

export const createElementBody = z
  .strictObject({
    kind,
    name,
    text: look.default("").meta({ description: `${lookText} Default: empty.` }),
    imagePaths: images.default([]),
  })
  .meta({ id: "CreateElement" });

export const changeElementBody = changeBody("ChangeElement", {
  kind: kind.optional(),
  name: name.optional(),
  text: look.optional(),
  imagePaths: images
    .optional()
    .meta({ description: "The complete list. An image that nothing uses any more is removed." }),
});

export const elementPath = z.strictObject({ elementId: id });

export const listElementsQuery = z.strictObject(pageQuery);

export const element = z
  .object({
    elementId: id,
    kind,
    name: z.string(),
    text: z.string(),
    imagePaths: z.array(referenceImagePath),
    createdAt: time,
    updatedAt: time.meta({ description: "Updated by every change; the ETag is this value in quotes." }),
  })
  .meta({ id: "Element", examples: [SAMPLE_ELEMENT] });
export type Element = z.infer<typeof element>;

export const elementPage = z.object({ elements: z.array(element), nextCursor }).meta({ id: "ElementPage" });

/** In the input of a prediction. */
export const usedElement = z
  .strictObject({
    elementId: id.meta({ description: "It may have been deleted since." }),
    updatedAt: time.meta({ description: "Its version at that time." }),
    name: z.string().max(60),
    text: z.string().max(1000),
    imagePaths: z.array(referenceImagePath).max(8),
  })
  .meta({ id: "UsedElement", description: "An element as it was when the prediction was started." });
