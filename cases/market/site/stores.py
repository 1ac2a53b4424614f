"""The stores of the market, asked in the two ways of its study: a blocking call keeps the whole process waiting, an
asynchronous one only whoever asked. Both are awaited alike, so that the market is written once."""

import os

import aiomysql
import pymysql
import redis
import redis.asyncio


def address(name):
    host, port = os.environ[name].split(":")
    return host, int(port)


class Blocking:
    """As the study had it: one connection to each store, and the event loop stands still until it has answered."""

    async def open(self):
        self.writer = self._connect("MARKET_DATABASE")
        self.reader = self._connect("MARKET_REPLICA")
        host, port = address("MARKET_REDIS")
        self.redis = redis.Redis(host=host, port=port)

    @staticmethod
    def _connect(name):
        host, port = address(name)
        return pymysql.connect(host=host, port=port, user="root", database="market", autocommit=True)

    async def read(self, statement, *values):
        return self._ask(self.reader, statement, values)

    async def write(self, statement, *values):
        return self._ask(self.writer, statement, values)

    @staticmethod
    def _ask(connection, statement, values):
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description else cursor.lastrowid

    async def keep(self, key, value):
        self.redis.set(key, value)

    async def publish(self, channel, text):
        self.redis.publish(channel, text)


class Asynchronous:
    """The same calls on pools of connections: others go on meanwhile, and each call still takes its round trip."""

    CONNECTIONS = 16

    async def open(self):
        self.writer = await self._connect("MARKET_DATABASE")
        self.reader = await self._connect("MARKET_REPLICA")
        host, port = address("MARKET_REDIS")
        self.redis = redis.asyncio.Redis(host=host, port=port)

    async def _connect(self, name):
        host, port = address(name)
        return await aiomysql.create_pool(
            host=host, port=port, user="root", db="market", autocommit=True, minsize=2, maxsize=self.CONNECTIONS
        )

    async def read(self, statement, *values):
        return await self._ask(self.reader, statement, values)

    async def write(self, statement, *values):
        return await self._ask(self.writer, statement, values)

    @staticmethod
    async def _ask(pool, statement, values):
        async with pool.acquire() as connection, connection.cursor() as cursor:
            await cursor.execute(statement, values)
            return await cursor.fetchall() if cursor.description else cursor.lastrowid

    async def keep(self, key, value):
        await self.redis.set(key, value)

    async def publish(self, channel, text):
        await self.redis.publish(channel, text)


def chosen():
    return {"blocking": Blocking, "asynchronous": Asynchronous}[os.environ["MARKET_STORES"]]()
