import { CodeBlock } from "../ui/CodeBlock.tsx";
import { useDocs } from "./docs-context.ts";
import type { ApiOperation } from "./operations-of.ts";

/** The body of an event, as it may come. */
export function EventSample({ operation: { bodies, path } }: { operation: ApiOperation }) {
  const { makeSample } = useDocs();
  const [, schema] = bodies[0] ?? [];
  if (schema === undefined) return null;
  return <CodeBlock label={`A sample of ${path}`} code={JSON.stringify(makeSample(schema), null, 2)} />;
}
