import type { Field, Model, Rule } from "./model-types.ts";

export type InvalidField = { type: string; field: string; description: string };
export type Input = Readonly<Record<string, unknown>>;

/** Larger data URLs are refused, as the provider does; bigger files need a URL or the files API. */
export const maxDataUrlBytes = 256 * 1024;

/** Whether an input field carries something: absent, null, an empty text and an empty list are all "nothing". */
export function isFilled(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}

/** What is wrong with an input for a model, in the provider's words; an empty list when nothing is. */
export function checkInput(model: Model, input: Input): InvalidField[] {
  const wrong: InvalidField[] = [];
  for (const [name, field] of Object.entries(model.fields)) {
    const value = input[name];
    if (value === undefined || value === null) {
      if (field.required) wrong.push({ type: "required", field: "input", description: `${name} is required` });
      continue;
    }
    const fault = checkValue(name, field, value);
    if (fault) wrong.push({ ...fault, field: `input.${name}` });
  }
  for (const name of Object.keys(input)) {
    if (name in model.fields) continue;
    const description = `Additional property ${name} is not allowed`;
    wrong.push({ type: "additional_property_not_allowed", field: `input.${name}`, description });
  }
  if (wrong.length > 0) return wrong;
  return (model.rules ?? []).flatMap((rule) => checkRule(rule, input) ?? []);
}

type Complaint = Omit<InvalidField, "field">;

function checkValue(name: string, field: Field, value: unknown): Complaint | null {
  switch (field.type) {
    case "file":
      return checkFile(name, value);
    case "files":
      if (!Array.isArray(value)) return wrongType(name, "array", value);
      if (field.maxItems !== undefined && value.length > field.maxItems) {
        return { type: "array_max_items", description: `Array must have at most ${field.maxItems} items` };
      }
      return value.map((item) => checkFile(name, item)).find((complaint) => complaint !== null) ?? null;
    case "boolean":
      return typeof value === "boolean" ? null : wrongType(name, "boolean", value);
    case "string":
      if (typeof value !== "string") return wrongType(name, "string", value);
      return checkEnum(name, field, value);
    case "integer":
      if (typeof value !== "number" || !Number.isInteger(value)) return wrongType(name, "integer", value);
      return checkEnum(name, field, value) ?? checkRange(field, value);
  }
}

function wrongType(name: string, expected: string, value: unknown): Complaint {
  const given = Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;
  return { type: "invalid_type", description: `Invalid type. Expected: ${expected}, given: ${given} (${name})` };
}

function checkEnum(name: string, field: Field, value: string | number): Complaint | null {
  if (!field.values || field.values.includes(value)) return null;
  const allowed = field.values.map((one) => JSON.stringify(one)).join(", ");
  return { type: "enum", description: `${name} must be one of the following: ${allowed}` };
}

function checkRange(field: Field, value: number): Complaint | null {
  if (field.min !== undefined && value < field.min) {
    return { type: "number_gte", description: `Must be greater than or equal to ${field.min}` };
  }
  if (field.max !== undefined && value > field.max) {
    return { type: "number_lte", description: `Must be less than or equal to ${field.max}` };
  }
  return null;
}

function checkFile(name: string, value: unknown): Complaint | null {
  if (typeof value !== "string") return wrongType(name, "string", value);
  if (value.startsWith("data:")) {
    const bytes = Math.floor((value.length - value.indexOf(",") - 1) * 0.75);
    if (bytes <= maxDataUrlBytes) return null;
    return { type: "data_uri_size", description: `Data URI of ${bytes} bytes is larger than ${maxDataUrlBytes} bytes` };
  }
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return null;
  return { type: "format", description: "Does not match format 'uri'" };
}

function checkRule(rule: Rule, input: Input): InvalidField | null {
  switch (rule.rule) {
    case "ignores":
      return null;
    case "needs": {
      if (!isFilled(input[rule.field])) return null;
      if (rule.value === undefined ? isFilled(input[rule.other]) : input[rule.other] === rule.value) return null;
      const wanted = rule.value === undefined ? rule.other : `${rule.other} '${rule.value}'`;
      return complain(rule.field, `${rule.field} can only be used with ${wanted}`);
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
      return complain(
        rule.other,
        `${rule.other} must be ${rule.allowed.join(" or ")} with ${rule.field} ${rule.value}`,
      );
    }
  }
}

function complain(field: string, description: string): InvalidField {
  return { type: "dependency", field: `input.${field}`, description };
}
