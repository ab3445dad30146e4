import type { Column } from "./catalog.ts";
import type { Row, Values } from "./rows.ts";

/** A text area sends CR LF for each line break. */
const fieldOf = (form: FormData, name: string) => String(form.get(name) ?? "").replaceAll("\r\n", "\n");

export const isText = ({ type }: Column) => /^(text|character varying|character)\b/.test(type);

/** Of a form for a new row: what was left empty keeps its default. */
export function readInsert(columns: Column[], form: FormData): Values {
  const values: Values = {};
  for (const { name } of columns) {
    const text = fieldOf(form, `value:${name}`);
    if (text !== "") values[name] = text;
  }
  return values;
}

/** For an existing row: the fields that differ from the opened form. */
export function readUpdate(columns: Column[], form: FormData): Values {
  const values: Values = {};
  for (const column of columns) {
    const [now, before] = [fieldOf(form, `value:${column.name}`), fieldOf(form, `before:${column.name}`)];
    const [isNull, wasNull] = [form.has(`null:${column.name}`), form.has(`was-null:${column.name}`)];
    if (now !== before) values[column.name] = now === "" && !isText(column) ? null : now;
    else if (isNull !== wasNull) values[column.name] = isNull ? null : now;
  }
  return values;
}

/** The values of a refused form, to show again. */
export function typedIn(columns: Column[], form: FormData): Row {
  return Object.fromEntries(columns.map(({ name }) => [name, fieldOf(form, `value:${name}`)]));
}
