import { z } from "zod";
import { type Element, element } from "../../contract/elements.ts";
import { answerBase } from "../data/database.ts";
import { fromRow, position, toRow } from "../data/rows.ts";
import { cutPage, pageArguments } from "../http/cursor.ts";
import { answerHeaders, readVersions, versioned } from "../http/respond.ts";
import type { Handler } from "./handler.ts";

/** A row of keyframe.elements. */
const elementRow = fromRow(element.omit({ elementId: true }).extend(position));
const mapElement = ({ id, created_at, ...fields }: z.infer<typeof elementRow>): Element => ({
  elementId: id,
  ...fields,
});

const elementAnswer = answerBase.extend({ element: elementRow });
const elementsAnswer = answerBase.extend({ elements: z.array(elementRow) });

export const createElement: Handler<"createElement"> = async ({ body, idempotency, caller }, { database }) => {
  const args = { ...toRow(body), ...idempotency };
  const answer = await database.call("create_element", args, caller, elementAnswer);
  return versioned(mapElement(answer.element), answer);
};

export const listElements: Handler<"listElements"> = async ({ query, caller }, { database }) => {
  const answer = await database.read("list_elements", pageArguments(query), caller, elementsAnswer);
  const { rows, nextCursor } = cutPage(answer.elements, query.limit);
  return { data: { elements: rows.map(mapElement), nextCursor }, headers: answerHeaders(answer) };
};

export const readElement: Handler<"readElement"> = async ({ path, caller }, { database }) => {
  const answer = await database.read("read_element", { element_id: path("elementId") }, caller, elementAnswer);
  return versioned(mapElement(answer.element), answer);
};

export const changeElement: Handler<"changeElement"> = async ({ path, body, caller, headers }, { database }) => {
  const versions = readVersions(headers.get("if-match"));
  const args = { element_id: path("elementId"), changes: toRow(body), versions };
  const answer = await database.call("update_element", args, caller, elementAnswer);
  return versioned(mapElement(answer.element), answer);
};

export const deleteElement: Handler<"deleteElement"> = async ({ path, caller, headers }, { database }) => {
  const args = { element_id: path("elementId"), versions: readVersions(headers.get("if-match")) };
  const answer = await database.call("delete_element", args, caller, elementAnswer);
  return { data: mapElement(answer.element), headers: answerHeaders(answer) };
};
