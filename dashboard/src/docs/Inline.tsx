/** A sentence with `code` in it, as the document's Markdown has it. */
export function Inline({ text }: { text: string }) {
  return text.split("`").map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      // The parts of a text keep their places.
      // biome-ignore lint/suspicious/noArrayIndexKey: see above
      <code key={at}>{part}</code>
    ),
  );
}
