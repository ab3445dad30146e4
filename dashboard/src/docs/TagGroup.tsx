import { Stack, Title } from "@mantine/core";
import { type OpenItems, Items } from "./Items.tsx";
import { itemId } from "./item-address.ts";
import { OperationDetails } from "./OperationDetails.tsx";
import { OperationHead } from "./OperationHead.tsx";
import type { ApiOperation } from "./operations-of.ts";
import { Paragraphs } from "./Paragraphs.tsx";
import { VerifySignature } from "./VerifySignature.tsx";

type Props = OpenItems & { tag: string; description: string; operations: ApiOperation[] };

/** The operations of one tag. */
export function TagGroup({ tag, description, operations, open, onChange }: Props) {
  const items = operations.map((operation) => ({
    id: itemId("operation", operation.id),
    head: <OperationHead operation={operation} />,
    content: () => <OperationDetails operation={operation} />,
  }));
  return (
    <Stack component="section" gap="sm" aria-label={tag}>
      <Title order={2} size="h4">
        {tag}
      </Title>
      <Paragraphs text={description} />
      {operations.some(({ isEvent }) => isEvent) && <VerifySignature />}
      <Items items={items} open={open} onChange={onChange} />
    </Stack>
  );
}
