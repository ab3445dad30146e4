import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { FieldSchema, InputSchema } from "./model-schemas.ts";
import type { Model, Rule } from "./models.ts";

export type InvalidField = { type: string; field: string; description: string };
type Complaint = Omit<InvalidField, "field">;
export type Input = Readonly<Record<string, unknown>>;

/** False for an absent field, null, an empty text and an empty list. */
export function isFilled(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}

type Checked = Pick<Model, "input" | "rules">;
const validators = new WeakMap<Checked, ValidateFunction>();

/** The errors in a model's input, in the provider's words. */
export function checkInput(model: Checked, input: Input): InvalidField[] {
  const validate = validators.get(model) ?? compileInput(model.input);
  validators.set(model, validate);
  // The provider treats null as an absent field.
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
  const errors = validate(given) ? [] : (validate.errors ?? []);
  const counted = (model.rules ?? []).flatMap((rule) => checkCount(rule, input) ?? []);
  const wrong = [...inOrder(errors, model).map((error) => describe(error, model)), ...counted];
  if (wrong.length > 0) return wrong;
  return (model.rules ?? []).flatMap((rule) => checkRule(rule, input) ?? []);
}

/** One error for each field, in the model's order; then those of unknown fields. */
function inOrder(errors: readonly ErrorObject[], model: Checked): ErrorObject[] {
  const names = Object.keys(model.input.fields);
  const byField = new Map<string, ErrorObject>();
  for (const error of errors) if (!byField.has(fieldOf(error))) byField.set(fieldOf(error), error);
  const place = (name: string) => (names.includes(name) ? names.indexOf(name) : names.length);
  return [...byField].sort(([a], [b]) => place(a) - place(b)).map(([, error]) => error);
}

function fieldOf({ instancePath, params }: ErrorObject): string {
  return instancePath.split("/")[1] ?? String(params.missingProperty ?? params.additionalProperty);
}

function describe(error: ErrorObject, model: Checked): InvalidField {
  const name = fieldOf(error);
  if (error.keyword === "required") return { type: "required", field: "input", description: `${name} is required` };
  const field = `input.${name}`;
  if (error.keyword === "additionalProperties") {
    const description = `Additional property ${name} is not allowed`;
    return { type: "additional_property_not_allowed", field, description };
  }
  return { ...complainOf(name, error, model.input.fields[name] ?? {}), field };
}

function complainOf(name: string, { keyword, params, data, message }: ErrorObject, field: FieldSchema): Complaint {
  switch (keyword) {
    case "type":
      return wrongType(name, String(params.type), data);
    case "format":
      return checkFile(String(data)) ?? { type: "format", description: String(message) };
    case "enum": {
      const allowed = (field.enum ?? []).map((one) => JSON.stringify(one)).join(", ");
      return { type: "enum", description: `${name} must be one of the following: ${allowed}` };
    }
    case "minimum":
      return { type: "number_gte", description: `Must be greater than or equal to ${params.limit}` };
    case "maximum":
      return { type: "number_lte", description: `Must be less than or equal to ${params.limit}` };
    case "maxItems":
      return tooMany(params.limit);
    default:
      return { type: keyword, description: `${name} ${message}` };
  }
}

function wrongType(name: string, expected: string, value: unknown): Complaint {
  const given = Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;
  return { type: "invalid_type", description: `Invalid type. Expected: ${expected}, given: ${given} (${name})` };
}

const tooMany = (limit: unknown): Complaint => ({
  type: "array_max_items",
  description: `Array must have at most ${limit} items`,
});

function checkCount(rule: Rule, input: Input): InvalidField | null {
  if (rule.rule !== "at most") return null;
  const list = input[rule.field];
  const others = (rule.with ?? []).filter((name) => isFilled(input[name]));
  if (!Array.isArray(list) || list.length + others.length <= rule.items) return null;
  return { ...tooMany(rule.items), field: `input.${rule.field}` };
}

function checkRule(rule: Rule, input: Input): InvalidField | null {
  switch (rule.rule) {
    case "ignores":
    case "at most":
      return null;
    case "needs": {
      if (!isFilled(input[rule.field])) return null;
      if (rule.value === undefined ? isFilled(input[rule.other]) : input[rule.other] === rule.value) return null;
      const required = rule.value === undefined ? rule.other : `${rule.other} '${rule.value}'`;
      return complain(rule.field, `${rule.field} can only be used with ${required}`);
    }
    case "excludes": {
      const field = rule.fields.find((name) => isFilled(input[name]));
      const other = rule.others.find((name) => isFilled(input[name]));
      return field && other ? complain(field, `${field} cannot be used together with ${other}`) : null;
    }
    case "limits": {
      const value = input[rule.other];
      if (input[rule.field] !== rule.value || value === undefined || value === null) return null;
      if (rule.allowed.some((one) => one === value)) return null;
      const allowed = rule.allowed.join(" or ");
      return complain(rule.other, `${rule.other} must be ${allowed} with ${rule.field} ${rule.value}`);
    }
  }
}

const complain = (field: string, description: string): InvalidField => {
  return { type: "dependency", field: `input.${field}`, description };
};

// ajv is not strict, because of OpenAPI's own keywords (deprecated, x-order). It is verbose, so that an error has its value.
const ajv = new Ajv({ strict: false, allErrors: true, verbose: true });
ajv.addFormat("uri", (value: string) => checkFile(value) === null);
ajv.addFormat("password", true);

/** Checks a whole input, which may have only the schema's fields. A file must be an http(s) URL or a small data URL. */
function compileInput({ fields, required }: InputSchema): ValidateFunction {
  return ajv.compile({ type: "object", properties: fields, required, additionalProperties: false });
}

/** The provider's limit; larger files need a URL or the files API. */
const MAX_DATA_URL_BYTES = 256 * 1024;

/** The error in the URL of a file; null when it is valid. */
function checkFile(value: string): Complaint | null {
  if (value.startsWith("data:")) {
    const bytes = Math.floor((value.length - value.indexOf(",") - 1) * 0.75);
    if (bytes <= MAX_DATA_URL_BYTES) return null;
    return {
      type: "data_uri_size",
      description: `Data URI of ${bytes} bytes is larger than ${MAX_DATA_URL_BYTES} bytes`,
    };
  }
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return null;
  return { type: "format", description: "Does not match format 'uri'" };
}
