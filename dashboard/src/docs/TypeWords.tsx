import { Anchor } from "@mantine/core";
import { Link } from "react-router";
import type { SchemaFacts } from "./describe-schema.ts";
import classes from "./docs.module.css";
import { itemId, searchOf } from "./item-address.ts";

type Props = {
  facts: SchemaFacts /** What is to be said of its being there: "required" or "optional". */;
  mark: string | null;
};

/** The type of a field; that of a component is a link to it. */
export function TypeWords({ facts: { type, reference, isNullable }, mark }: Props) {
  return (
    <span className={classes.type}>
      {type}
      {type !== "" && reference !== null && " "}
      {reference !== null && (
        <Anchor component={Link} to={{ search: searchOf(itemId("schema", reference)) }} inherit underline="always">
          {reference}
        </Anchor>
      )}
      {isNullable && " or null"}
      {mark !== null && (
        <>
          {" · "}
          <span className={classes.mark} data-mark={mark}>
            {mark}
          </span>
        </>
      )}
    </span>
  );
}
