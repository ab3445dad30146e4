import classes from "./docs.module.css";
import type { ApiOperation } from "./operations-of.ts";

/** Method, path and what it does. */
export function OperationHead({ operation: { method, path, summary } }: { operation: ApiOperation }) {
  return (
    <span className={classes.head}>
      <span className={classes.method} data-method={method}>
        {method}
      </span>{" "}
      <span className={classes.path}>{path}</span> <span className={classes.summary}>{summary}</span>
    </span>
  );
}
