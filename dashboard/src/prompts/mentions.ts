type Named = { name: string };

/** A letter, a digit, an underscore or a mark continues a name. An @ after one of them is not a mention. */
const CONTINUES_A_NAME = /^[\p{L}\p{N}\p{M}_]/u;

const keyOf = (name: string): string => name.normalize().toLowerCase();

/** An @ of a prompt with what it names. `word`: the name as written. `isOpen`: it ends the prompt, so it may still become a name. */
type Mention<One> = { element: One | null; word: string; isOpen: boolean };

/** The mentions of a prompt, found as the service finds them. */
function mentionsIn<One extends Named>(prompt: string, known: One[]): Mention<One>[] {
  const text = prompt.normalize();
  const longestFirst = known.toSorted((one, other) => other.name.length - one.name.length);
  return [...text.matchAll(/(?<![\p{L}\p{N}\p{M}_])@(?=[^\s@])/gu)].map(({ index }) => {
    const [rest = ""] = text.slice(index + 1).split("@");
    const isNamed = ({ name }: One) =>
      keyOf(rest).startsWith(keyOf(name)) && !CONTINUES_A_NAME.test(rest.slice(name.normalize().length));
    const isOpen =
      index + 1 + rest.length === text.length && known.some(({ name }) => keyOf(name).startsWith(keyOf(rest)));
    return { element: longestFirst.find(isNamed) ?? null, word: /^[^\s.,;:!?()]*/.exec(rest)?.[0] ?? "", isOpen };
  });
}

/** The number of names that fit into a line. */
const MAX_NAMED = 8;

/** The error for an @ that names no element. Null if there is none, or if the last @ may still become a name. */
export function unknownName(prompt: string, known: Named[]): string | null {
  if (known.length === 0) return null; // without elements, an @ has no meaning
  const unknown = mentionsIn(prompt, known).find(({ element, isOpen }) => element === null && !isOpen);
  if (unknown === undefined) return null;
  const names = known.slice(0, MAX_NAMED).map(({ name }) => name);
  const all = [...names, ...(known.length > MAX_NAMED ? ["…"] : [])].join(", ");
  return `“@${unknown.word}” isn't in the cast (${all}). Fix the name, or put a space after the @.`;
}

/** The cast of a shot's film, and the shot's own elements. Null: the shot has no list of its own. */
export type Cast<One extends Named> = { ofFilm: One[]; own: One[] | null };

/** All elements that a prompt can name. */
export const knownOf = <One extends Named>({ ofFilm, own }: Cast<One>): One[] => [
  ...new Set([...(own ?? []), ...ofFilm]),
];

/** The elements that a start with this prompt uses. If the prompt names elements of the film's cast, only those. */
export function usedIn<One extends Named>(prompt: string, cast: Cast<One>): One[] {
  const named = mentionsIn(prompt, knownOf(cast)).flatMap(({ element }) => element ?? []);
  if (cast.own === null && named.length > 0) return [...new Set(named)];
  return [...new Set([...(cast.own ?? cast.ofFilm), ...named])];
}

/** The text after the @ before the caret. `from`: the position of the @. Null if the text cannot be a name. */
export function typedName(text: string, caret: number): { from: number; start: string } | null {
  const found = /(?<![\p{L}\p{N}\p{M}_])@((?!\s)[^@\n]{0,60})$/u.exec(text.slice(0, caret));
  return found === null ? null : { from: found.index, start: found[1] ?? "" };
}

/** The elements whose name begins with `start`. None if the name is already complete. */
export function offeredFor<One extends Named>(start: string, known: One[]): One[] {
  const offered = known.filter(({ name }) => keyOf(name).startsWith(keyOf(start)));
  return offered.length === 1 && offered.every(({ name }) => keyOf(name) === keyOf(start)) ? [] : offered;
}
