const KINDS = ["operation", "schema"] as const;
type Kind = (typeof KINDS)[number];

/** The id of an operation or a schema in the page. */
export const itemId = (kind: Kind, name: string): string => `${kind}-${name}`;

/** The item that an address is about: `?operation=createProject`. */
export function itemOf(search: string): string | null {
  const query = new URLSearchParams(search);
  const kind = KINDS.find((one) => query.has(one));
  return kind === undefined ? null : itemId(kind, query.get(kind) ?? "");
}

/** The address of an item; empty for none. */
export function searchOf(item: string | null): string {
  const [, kind, name] = /^(operation|schema)-(.*)$/.exec(item ?? "") ?? [];
  return kind === undefined || name === undefined ? "" : `?${new URLSearchParams({ [kind]: name })}`;
}
