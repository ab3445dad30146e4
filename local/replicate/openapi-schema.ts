import type { Field, Model } from "./model-types.ts";

/** The `latest_version.openapi_schema` of a model: its input properties and what its output looks like. */
export function openapiSchema(name: string, model: Model): object {
  const properties = Object.entries(model.fields).map(([field, rules], order) => [
    field,
    property(field, rules, order),
  ]);
  const required = Object.keys(model.fields).filter((field) => model.fields[field]?.required);
  const uri = { type: "string", format: "uri" };
  return {
    openapi: "3.0.2",
    info: { title: name, version: "0.1.0" },
    components: {
      schemas: {
        Input: { type: "object", title: "Input", required, properties: Object.fromEntries(properties) },
        Output: { title: "Output", ...(model.output === "images" ? { type: "array", items: uri } : uri) },
      },
    },
  };
}

function property(name: string, field: Field, order: number): object {
  const type =
    field.type === "file"
      ? { type: "string", format: "uri" }
      : field.type === "files"
        ? { type: "array", items: { type: "string", format: "uri" }, default: [] }
        : { type: field.type };
  return {
    title: name,
    "x-order": order,
    ...type,
    ...(field.values ? { enum: field.values } : {}),
    ...(field.min === undefined ? {} : { minimum: field.min }),
    ...(field.max === undefined ? {} : { maximum: field.max }),
    ...(field.maxItems === undefined ? {} : { maxItems: field.maxItems }),
    ...(field.default === undefined ? {} : { default: field.default }),
  };
}
