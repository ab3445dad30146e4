import { Stack, Text } from "@mantine/core";
import { memo } from "react";
import { AnswerPart } from "./AnswerPart.tsx";
import { BodyPart } from "./BodyPart.tsx";
import { callersSentence } from "./callers-sentence.ts";
import classes from "./docs.module.css";
import { ErrorPart } from "./ErrorPart.tsx";
import { EventSample } from "./EventSample.tsx";
import { Examples } from "./Examples.tsx";
import { Inline } from "./Inline.tsx";
import type { ApiOperation } from "./operations-of.ts";
import { Paragraphs } from "./Paragraphs.tsx";
import { ParameterPart } from "./ParameterPart.tsx";
import { Part } from "./Part.tsx";

const PLACES = [
  ["path", "In the path"],
  ["query", "In the query"],
  ["header", "Headers"],
] as const;

/**
 * All that there is to know of one operation; the examples stand beside it, or on a phone between request and
 * answer. Kept, while others open and the filter is typed.
 */
export const OperationDetails = memo(({ operation }: { operation: ApiOperation }) => {
  const { description, parameters, isEvent } = operation;
  return (
    <div className={classes.columns}>
      <Stack gap="lg" miw={0}>
        {description !== "" && (
          <div>
            <Paragraphs text={description} />
          </div>
        )}
        <Part title={isEvent ? "Who sends it" : "Who may call"}>
          <Text size="sm">
            <Inline text={callersSentence(operation)} />
          </Text>
        </Part>
        {PLACES.map(([place, title]) => (
          <ParameterPart key={place} title={title} parameters={parameters.filter((one) => one.in === place)} />
        ))}
        <BodyPart operation={operation} />
      </Stack>
      <div className={classes.examples}>
        {isEvent ? <EventSample operation={operation} /> : <Examples operation={operation} />}
      </div>
      <Stack gap="lg" miw={0} className={classes.answers}>
        <AnswerPart operation={operation} />
        <ErrorPart responses={operation.responses} />
      </Stack>
    </div>
  );
});
OperationDetails.displayName = "OperationDetails";
