import { Fragment } from "react";

/** A name that may break after each underscore, where a narrow column needs it. */
export function BreakableCode({ text }: { text: string }) {
  const words = text.split("_");
  return (
    <code>
      {words.map((word, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the words of a name keep their places
        <Fragment key={at}>
          {at > 0 && (
            <>
              _<wbr />
            </>
          )}
          {word}
        </Fragment>
      ))}
    </code>
  );
}
