import { Anchor, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { Link } from "react-router";
import { useServices } from "../app/services-context.ts";
import { checkEmail } from "./check-fields.ts";
import { EmailField } from "./EmailField.tsx";
import { focusFirstError } from "./focus-first-error.ts";
import { MailSent } from "./MailSent.tsx";
import { pageAddress } from "./page-address.ts";
import { SessionForm } from "./SessionForm.tsx";
import { useAuthForm } from "./use-auth-form.ts";

/** Says the same whether there is such an account or not. */
export function Component() {
  const { auth } = useServices();
  const [sentTo, setSentTo] = useState<string | null>(null);
  const { run, isBusy, problem } = useAuthForm(async (email: string) => {
    const answer = await auth.resetPasswordForEmail(email, { redirectTo: pageAddress() });
    if (!answer.error) setSentTo(email);
    return answer;
  });
  const form = useForm({ mode: "uncontrolled", initialValues: { email: "" }, validate: { email: checkEmail } });
  if (sentTo !== null) {
    return (
      <MailSent
        text={`If there is an account with ${sentTo}, a link for a new password is on its way to that address.`}
      />
    );
  }
  return (
    <SessionForm
      title="Reset your password"
      submit="Send the link"
      problem={problem}
      isBusy={isBusy}
      onSubmit={form.onSubmit(({ email }) => run(email), focusFirstError(form))}
      links={
        <Anchor component={Link} to="/sign-in" size="sm">
          Back to sign-in
        </Anchor>
      }
    >
      <Text size="sm" c="dimmed">
        You get a mail with a link that lets you choose a new password.
      </Text>
      <EmailField key={form.key("email")} {...form.getInputProps("email")} />
    </SessionForm>
  );
}
