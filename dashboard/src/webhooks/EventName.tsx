/** May break after a dot, never inside a word. */
export function EventName({ type }: { type: string }) {
  const [first, ...others] = type.split(".");
  return (
    <>
      {first}
      {others.map((part) => (
        <span key={part}>
          .<wbr />
          {part}
        </span>
      ))}
    </>
  );
}
