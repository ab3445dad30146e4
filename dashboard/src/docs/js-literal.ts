const WIDTH = 60;

/** A JSON value as it is written in code: names without quotes, on one line where it is short. */
export function jsLiteral(value: unknown, indent = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const items = Array.isArray(value)
    ? value.map((item) => jsLiteral(item, inner))
    : Object.entries(value).map(([name, item]) => `${nameOf(name)}: ${jsLiteral(item, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + close;
  const line = items.join(", ");
  if (indent.length + line.length <= WIDTH && !line.includes("\n")) {
    return Array.isArray(value) ? `[${line}]` : `{ ${line} }`;
  }
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}${close}`;
}

const nameOf = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));
