import type { Parameter } from "./open-api.ts";
import { FieldTable } from "./FieldTable.tsx";
import { Part } from "./Part.tsx";

type Props = { title: string; parameters: Parameter[] };

/** The parameters of one place; nothing where there are none. */
export function ParameterPart({ title, parameters }: Props) {
  if (parameters.length === 0) return null;
  return (
    <Part title={title}>
      <FieldTable
        caption={title}
        rows={parameters.map(({ name, required = false, description = "", schema = {} }) => ({
          name,
          isRequired: required,
          description,
          schema,
        }))}
      />
    </Part>
  );
}
