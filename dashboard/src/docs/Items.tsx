import { Accordion } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./docs.module.css";

export type OpenItems = {
  /** The ids of all open items of the page. */
  open: string[];
  /** Told the ids of a group, and which of them are open now. */
  onChange: (ids: string[], nowOpen: string[]) => void;
};

type Props = OpenItems & { items: { id: string; head: ReactNode; content: () => ReactNode }[] };

/** Items that open, under headings of the third level. What is closed is not made. */
export function Items({ items, open, onChange }: Props) {
  const ids = items.map(({ id }) => id);
  return (
    <Accordion
      multiple
      variant="contained"
      order={3}
      transitionDuration={0}
      value={open.filter((id) => ids.includes(id))}
      onChange={(nowOpen) => onChange(ids, nowOpen)}
      classNames={{ item: classes.item, control: classes.control, label: classes.label }}
    >
      {items.map(({ id, head, content }) => (
        <Accordion.Item key={id} value={id} id={id}>
          <Accordion.Control>{head}</Accordion.Control>
          <Accordion.Panel>{open.includes(id) && content()}</Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  );
}
