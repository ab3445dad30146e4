import { changeElementBody, createElementBody, element, elementPage, elementPath } from "../elements.ts";
import { pageQuery } from "../fields.ts";
import { SAMPLE, SAMPLE_ELEMENT } from "../samples.ts";
import type { Operation } from "./operation.ts";

const path = { elementId: SAMPLE.elementId };
const { kind, name, text, imagePaths } = SAMPLE_ELEMENT;
const all = { at: "/elements", tag: "Elements", caller: "session" } as const;
const one = { ...all, at: "/elements/:elementId", path: elementPath, status: 200, answer: element } as const;

export const elementOperations = {
  createElement: {
    ...all,
    method: "POST",
    summary: "Create an element",
    description:
      "Saves a character, a place, a prop or a style with a text and up to eight uploaded images. Put it into the cast of a film (`elementIds`). Nothing is charged by the provider, and no event is sent.\n\n" +
      "After a timeout or a 5xx, repeat the request with the same `Idempotency-Key`: one element is created.",
    body: createElementBody,
    status: 201,
    answer: element,
    versioned: true,
    examples: [
      { summary: "A character", body: { kind, name, text, imagePaths } },
      { summary: "A place without an image", body: { kind: "place", name: "Old harbour", text: "Wooden piers, fog" } },
    ],
  },
  listElements: {
    ...all,
    method: "GET",
    summary: "List your elements, newest first",
    description:
      "Returns one page. Pass `nextCursor` as `cursor` to read the next page; it is null on the last one.\n\n" +
      "If a cursor is refused with `invalid_request`, start again without it.",
    query: pageQuery,
    status: 200,
    answer: elementPage,
    examples: [{ summary: "The newest 20" }],
  },
  readElement: {
    ...one,
    method: "GET",
    summary: "Read an element",
    description: "An element that does not exist and an element of another user are both `not_found`.",
    versioned: true,
    errors: ["not_found"],
    examples: [{ summary: "One element", path }],
  },
  changeElement: {
    ...one,
    method: "PATCH",
    summary: "Change an element",
    description:
      "Send at least one field; fields you leave out keep their value. Predictions keep what they were made with; takes that were made with it are `outdated` then.\n\n" +
      "With `If-Match` and the element's ETag, it fails with `precondition_failed` if the element has changed since: read it again. After a timeout or a 5xx, repeat the request: the result is the same.",
    body: changeElementBody,
    versioned: true,
    errors: ["not_found", "precondition_failed"],
    examples: [{ summary: "Another text", path, body: { text: "A woman of 30 in a yellow coat" } }],
  },
  deleteElement: {
    ...one,
    method: "DELETE",
    summary: "Delete an element",
    description:
      "It leaves all films and projects. Predictions that were made with it keep its name, text and images in `input.elements`. An image that nothing else uses is removed.\n\n" +
      "With `If-Match` and the element's ETag, it fails with `precondition_failed` if the element has changed since. If a repeated request answers `not_found`, the first one succeeded.",
    errors: ["not_found", "precondition_failed"],
    examples: [{ summary: "One element", path }],
  },
} as const satisfies Record<string, Operation>;
