const WIDTH = 120;
const STEP = "  ";

/**
 * JSON as this repository's formatter leaves it, with the keys of every object in alphabetical order and those that
 * begin with `x-source` first: the same schema gives the same file, whatever order it came in.
 */
export function writeSchema(document: object): string {
  return `${write(document, "", 0)}\n`;
}

/** @param taken columns that stand before the value on its line, and one for the comma behind it */
function write(value: unknown, indent: string, taken: number): string {
  if (Array.isArray(value)) return writeList(value, indent, taken);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  if (entries.length === 0) return "{}";
  const [only] = entries;
  if (entries.length === 1 && only && typeof only[1] === "string")
    return `{ "${only[0]}": ${JSON.stringify(only[1])} }`;
  const inner = indent + STEP;
  const lines = entries
    .sort(([a], [b]) => order(a, b))
    .map(([key, one]) => {
      const start = `${inner}${JSON.stringify(key)}: `;
      return start + write(one, inner, start.length + 1);
    });
  return `{\n${lines.join(",\n")}\n${indent}}`;
}

function writeList(list: unknown[], indent: string, taken: number): string {
  const flat = `[${list.map((item) => write(item, indent, 0)).join(", ")}]`;
  if (!flat.includes("\n") && taken + flat.length <= WIDTH) return flat;
  const inner = indent + STEP;
  return `[\n${list.map((item) => inner + write(item, inner, inner.length + 1)).join(",\n")}\n${indent}]`;
}

function order(a: string, b: string): number {
  if ((a === "x-source") !== (b === "x-source")) return a === "x-source" ? -1 : 1;
  return a < b ? -1 : 1;
}
