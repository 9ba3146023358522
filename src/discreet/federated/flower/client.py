"""The ClientApp: it answers a request with noised integers out of the node's journal, or with a refusal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

from discreet.federated.flower.answers import AnsweringSite, FederatedTerms, refusing
from discreet.federated.flower.records import Request, masked_record, read_masked, refusal_record, update_record
from discreet.nodes.refusals import NodeRefusedError


def make_app(site: AnsweringSite | None = None) -> ClientApp:
    """The app around a site that is open already, or around the one that each message's context describes."""
    app = ClientApp()

    def reply(message: Message, context: Context, answer: Callable[[AnsweringSite, Request], RecordDict]) -> Message:
        with ExitStack() as stack:
            try:
                request, own = Request.read(message.content), site
                if own is None:  # what a SuperNode's own configuration describes, opened for one message
                    with refusing():
                        own = AnsweringSite(FederatedTerms.read(context.node_config))
                    stack.callback(own.close)
                content = answer(own, request)
            except NodeRefusedError as error:
                content = refusal_record(error.reason)
        return Message(content, reply_to=message)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        return reply(message, context, lambda own, request: update_record(own.update(request)))

    @app.query()
    def query(message: Message, context: Context) -> Message:
        def answer(own: AnsweringSite, request: Request) -> RecordDict:
            return masked_record(own.masked(request, read_masked(message.content)))

        return reply(message, context, answer)

    return app


app = make_app()
