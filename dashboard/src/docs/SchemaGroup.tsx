import { Stack, Title } from "@mantine/core";
import classes from "./docs.module.css";
import { type OpenItems, Items } from "./Items.tsx";
import { itemId } from "./item-address.ts";
import { SchemaDetails } from "./SchemaDetails.tsx";

type Props = OpenItems & { names: string[] };

/** What the operations have in common; types in the reference link here. */
export function SchemaGroup({ names, open, onChange }: Props) {
  const items = names.map((name) => ({
    id: itemId("schema", name),
    head: <span className={classes.path}>{name}</span>,
    content: () => <SchemaDetails name={name} />,
  }));
  return (
    <Stack component="section" gap="sm" aria-label="Schemas">
      <Title order={2} size="h4">
        Schemas
      </Title>
      <Items items={items} open={open} onChange={onChange} />
    </Stack>
  );
}
